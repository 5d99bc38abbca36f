"""The result of one evaluation: a small JSON that outlives models and embeddings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sag_vicreg.artifacts.atomic import finished_files, write_json
from sag_vicreg.errors import InputError


@dataclass(frozen=True)
class Spread:
    """Mean and deviation of a score over seeded half-samples of the images: spread, no interval."""

    mean: float
    deviation: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """Scores of one evaluation and everything needed to know what they are scores of.

    Attributes
    ----------
    key
        Content address of the evaluation: its recipes, images and options.
    family
        The same without the seed. Only results of one family may be averaged.
    models
        The complete resolved recipe of each model.
    scores
        Flat: ``lca.pearson``, ``knn.level1``, ``rand.clusters20``.
    half_samples
        The same keys, where the evaluation has half-samples.
    measures
        What each model's training measured last: ``knn`` and ``rankme`` of its probe images, and
        ``nontrivial`` where it walks.
    seconds
        ``train`` and ``evaluate``, wall clock.
    failure
        Why there are no scores: a training that stopped itself (it diverged or collapsed) is a
        result too, and would stop itself again.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    kind: str
    key: str
    family: str
    method: str
    seed: int
    images: Mapping[str, Any]
    options: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]]
    n_images: int
    scores: Mapping[str, float]
    half_samples: Mapping[str, Spread]
    seconds: Mapping[str, float]
    versions: Mapping[str, str]
    failure: str | None = None
    measures: Sequence[Mapping[str, float]]

    @property
    def file_name(self) -> str:
        """What the file is called wherever it is kept."""
        return f"{self.kind}-{self.method}-seed{self.seed}-{self.key[:12]}.json"

    def write(self, folder: Path) -> Path:
        """Write this result into ``folder`` and return its path."""
        path = folder / self.file_name
        write_json(path, asdict(self))
        return path


@cache
def _format() -> TypeAdapter[Result]:
    return TypeAdapter(Result)


def read_result(path: Path) -> Result:
    """Read one result; a file that is none is refused by name."""
    try:
        return _format().validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path} is not a result of `reproduce` "
            f"({f'{where}: ' if where else ''}{first['msg']}): move it away"
        ) from error


def read_results(folders: Iterable[Path]) -> dict[str, Result]:
    """All results in ``folders`` by key; a missing folder holds none."""
    found: dict[str, Result] = {}
    for folder in folders:
        for path in finished_files(folder, "*.json"):
            result = read_result(path)
            found[result.key] = result
    return found

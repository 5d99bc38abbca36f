"""The result of one evaluation: a small JSON that outlives models and embeddings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sag_vicreg.artifacts import finished_files, write_json
from sag_vicreg.errors import InputError
from sag_vicreg.experiments.plan import Evaluation
from sag_vicreg.experiments.tables import Score


@dataclass(frozen=True)
class Spread:
    """Mean and deviation of a score over seeded half-samples of the images: spread, no interval."""

    mean: float
    deviation: float


@dataclass(frozen=True)
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
    measures: Sequence[Mapping[str, float]] = ()

    @property
    def file_name(self) -> str:
        """What the file is called wherever it is kept."""
        return f"{self.kind}-{self.method}-seed{self.seed}-{self.key[:12]}.json"

    def write(self, folder: Path) -> Path:
        """Write this result into ``folder`` and return its path."""
        path = folder / self.file_name
        write_json(path, asdict(self))
        return path


def read_result(path: Path) -> Result:
    """Read one result; a file that is none is refused by name."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        spreads = {key: Spread(**value) for key, value in content.pop("half_samples").items()}
        measures = tuple(content.pop("measures"))
        return Result(**content, half_samples=spreads, measures=measures)
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise InputError(
            f"{path} is not a result of `reproduce` ({error}): move it away"
        ) from error


def read_results(folders: Iterable[Path]) -> dict[str, Result]:
    """All results in ``folders`` by key; a missing folder holds none."""
    found: dict[str, Result] = {}
    for folder in folders:
        for path in finished_files(folder, "*.json"):
            result = read_result(path)
            found[result.key] = result
    return found


def finished(evaluations: Iterable[Evaluation], results: Mapping[str, Result]) -> list[Result]:
    """Return the results there are, without those whose training stopped itself."""
    known = [results[e.key] for e in evaluations if e.key in results]
    return [result for result in known if result.failure is None]


def of_method(results: Iterable[Result], method: str) -> list[Result]:
    """Return one method's results."""
    return [result for result in results if result.method == method]


def average(results: Sequence[Result], score: str) -> Score | None:
    """Mean and deviation of one score over seeds; refused for results of different recipes."""
    families = {result.family for result in results}
    if len(families) > 1:
        raise InputError(
            f"results of {len(families)} different recipes or settings cannot be averaged: "
            f"{', '.join(sorted(result.file_name for result in results))}"
        )
    seeds = [result.seed for result in results]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"the same seed twice in one average: seeds {sorted(seeds)}")
    return Score.of([result.scores[score] for result in results if result.failure is None])

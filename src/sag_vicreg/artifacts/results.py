"""The result of one evaluation: a small JSON that outlives models and embeddings.

Scores stand by their flat keys (:mod:`sag_vicreg.scores`), apart from the settings behind them.
`evaluate` writes :class:`ScoreFile`; `reproduce` writes :class:`Result`, which adds its address.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict

from sag_vicreg.artifacts.atomic import finished_files, write_json
from sag_vicreg.door import Kind, read_json
from sag_vicreg.errors import InputError
from sag_vicreg.scores import Spread, is_forest

FORMAT = 1
"""Of the files; one that does not say its format is of the first."""


@dataclass(frozen=True, kw_only=True)
class ScoreFile:
    """What every file of results holds.

    Attributes
    ----------
    kind
        ``evaluation``, or what `reproduce` evaluates: ``structure``, ``levels``, ``rand`` ...
    method
        Whose scores these are: a method of `reproduce`, or what the user calls the model.
    images
        Which images were embedded: dataset, classes and split, or the files.
    options
        The settings behind the scores.
    n_images
        How many images were scored.
    scores
        Flat: ``lca.pearson``, ``forest.spearman``, ``knn.level1``, ``rand.clusters20``.
    deviations
        The same keys, where a score is a mean over repetitions, as of the linear probe.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    kind: str
    method: str
    images: Mapping[str, Any]
    options: Mapping[str, Any]
    n_images: int
    scores: Mapping[str, float]
    deviations: Mapping[str, float] = field(default_factory=dict)
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class Result(ScoreFile):
    """Scores of models that `reproduce` trained, and everything needed to make them again.

    Attributes
    ----------
    key
        Content address of the evaluation: its recipes, images and options. ``options["forest"]``,
        which says what the scores of forests are of, is not part of it.
    family
        The same without the seed. Only results of one family may be averaged.
    models
        The complete resolved recipe of each model.
    half_samples
        The same keys, where the evaluation has half-samples.
    measures
        What each model's training measured last: ``knn`` and ``rankme`` of the images it
        watches, and ``nontrivial`` where it walks.
    seconds
        ``train`` and ``evaluate``, wall clock.
    failure
        Why there are no scores: a training that stopped itself (it diverged or collapsed) is a
        result too, and would stop itself again.
    """

    key: str
    family: str
    seed: int
    models: Sequence[Mapping[str, Any]]
    half_samples: Mapping[str, Spread]
    seconds: Mapping[str, float]
    versions: Mapping[str, str]
    failure: str | None = None
    measures: Sequence[Mapping[str, float]]

    @property
    def file_name(self) -> str:
        """What the file is called wherever it is kept."""
        return f"{self.kind}-{self.method}-seed{self.seed}-{self.key[:12]}.json"

    @property
    def forest_scores(self) -> dict[str, float]:
        """The scores of forests, which came later than the others: older results have none."""
        return {key: value for key, value in self.scores.items() if is_forest(key)}

    def with_forest(self, scores: Mapping[str, float], settings: Mapping[str, Any]) -> "Result":
        """Return this result, under the same key, with these scores of forests and no others."""
        plain = {key: value for key, value in self.scores.items() if not is_forest(key)}
        return replace(
            self,
            scores={**plain, **scores},
            options={**self.options, "forest": dict(settings)},
        )

    def write(self, folder: Path) -> Path:
        """Write this result into ``folder`` and return its path."""
        path = folder / self.file_name
        write_json(path, asdict(self))
        return path


def read_result(path: Path) -> Result:
    """Read one result of `reproduce`; a file that is none is refused by name."""
    return _read(path, "reproduce", Result)


def read_scores(path: Path) -> ScoreFile:
    """Read the results of `evaluate`; a file that is none is refused by name."""
    return _read(path, "evaluate", ScoreFile)


Form = TypeVar("Form", bound=ScoreFile)


def _read(path: Path, command: str, form: type[Form]) -> Form:
    remedy = f"make it again with `sag-vicreg {command}`, or move it away"
    found = read_json(path, Kind(f"a result of `{command}`", remedy), form)
    if found.format > FORMAT:
        raise InputError(
            f"{path} has results of format {found.format}, and this version of sag-vicreg reads "
            f"up to {FORMAT}: install a newer one"
        )
    return found


def read_results(folders: Iterable[Path]) -> dict[str, Result]:
    """All results in ``folders`` by key; a missing folder holds none."""
    paths = (path for folder in folders for path in finished_files(folder, "*.json"))
    return {result.key: result for result in map(read_result, paths)}

"""Where a reproduction keeps its things: models by recipe, results by evaluation, locks.

::

    ROOT/models/<recipe digest>/     a run folder as `train` leaves it
    ROOT/results/*.json              one small file per evaluation
    ROOT/locks/                      held by whoever is at a model or an evaluation
    ROOT/workers.log                 what workers on this machine have to say
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sag_vicreg.artifacts import Result, Run, read_results, write_json
from sag_vicreg.recipes import Recipe

TIMES = "seconds.json"
FAILURE = "failure.json"
# What a result keeps of its models' trainings, which no score of it says.
MEASURES = ("knn", "rankme", "nontrivial")


@dataclass(frozen=True)
class Store:
    """A reproduction's folder, and folders of published results that count as done."""

    root: Path
    published: tuple[Path, ...] = ()

    @property
    def results_folder(self) -> Path:
        """Where this reproduction's own results go."""
        return self.root / "results"

    @property
    def embedding_folders(self) -> tuple[Path, ...]:
        """Where embeddings are published: beside the published results."""
        return tuple(folder.parent / "embeddings" for folder in self.published)

    def results(self) -> dict[str, Result]:
        """Read every known result by key; what is published stands, whatever lies beside it.

        But for the forest: ours is kept where the published result has none of these settings.
        """
        own = read_results([self.results_folder])
        return own | {
            key: _completed(result, own.get(key))
            for key, result in read_results(self.published).items()
        }

    def run(self, recipe: Recipe) -> Run:
        """Name the run folder of a model."""
        return Run(self.root / "models" / recipe.digest())

    def is_trained(self, recipe: Recipe) -> bool:
        """Whether the model's training has ended; its last act is to write the backbone."""
        return self.run(recipe).backbone.is_file()

    def failure(self, recipe: Recipe) -> str | None:
        """Read why the model's training stopped itself, if it did."""
        return _read(self.run(recipe).folder / FAILURE).get("reason")

    def remember_failure(self, recipe: Recipe, reason: str) -> None:
        """Keep why a training stopped itself, so that it is not tried again."""
        write_json(self.run(recipe).folder / FAILURE, {"reason": reason})

    def is_settled(self, recipe: Recipe) -> bool:
        """Whether nothing is left to train: the model is there, or it cannot be."""
        return self.is_trained(recipe) or self.failure(recipe) is not None

    def share_done(self, recipe: Recipe, steps: int) -> float:
        """Read which share of its steps a training has made."""
        return min(self._last_line(recipe).get("step", 0.0) / steps, 1.0)

    def last_measures(self, recipe: Recipe) -> dict[str, float]:
        """Read what a training measured last: those of `MEASURES` its log has."""
        last = self._last_line(recipe)
        # A training that diverged may have logged NaN, which JSON has no word for.
        return {name: last[name] for name in MEASURES if math.isfinite(last.get(name, math.nan))}

    def _last_line(self, recipe: Recipe) -> dict[str, float]:
        """Read the last whole line of a training's metrics, without its empty cells."""
        path = self.run(recipe).metrics
        try:
            with path.open("rb") as file:
                header = file.readline().decode().strip().split(",")
                file.seek(max(0, path.stat().st_size - 4096))
                last = file.read().decode(errors="replace").split("\n")[-2].strip().split(",")
            return {name: float(cell) for name, cell in zip(header, last, strict=True) if cell}
        except (OSError, ValueError, IndexError):
            return {}

    @contextmanager
    def hold(self, key: str) -> Iterator[bool]:
        """Hold the lock of a model or an evaluation; yields False if somebody else has it.

        The operating system lets go of it when the process ends, however it ends.
        """
        from filelock import FileLock, Timeout

        path = self.root / "locks" / f"{key}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        with suppress(Timeout):
            lock.acquire(blocking=False)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def is_free(self, key: str) -> bool:
        """Whether nobody is at a model or an evaluation just now."""
        with self.hold(key) as mine:
            return mine

    def train_seconds(self, recipe: Recipe) -> float:
        """Read how long a model trained, interruptions left out."""
        return float(_read(self.run(recipe).folder / TIMES).get("seconds", 0.0))

    def add_train_seconds(self, recipe: Recipe, seconds: float) -> None:
        """Add the time of one part of a training to the rest."""
        seconds += self.train_seconds(recipe)
        write_json(self.run(recipe).folder / TIMES, {"seconds": seconds})


def _completed(published: Result, own: Result | None) -> Result:
    """Give a published result the forest of ours where it has none, or one of other settings."""
    if own is None or own.options.get("forest") in (None, published.options.get("forest")):
        return published
    return published.with_forest(own.forest_scores, own.options["forest"])


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

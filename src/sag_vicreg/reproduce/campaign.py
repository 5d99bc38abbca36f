"""A campaign: planned targets, worked off over one store, their tables printed and kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sag_vicreg.artifacts import Result, write_text
from sag_vicreg.errors import check_name, require_train_extra
from sag_vicreg.reproduce.estimate import seconds_of, steps_of
from sag_vicreg.reproduce.forests import complete_forests
from sag_vicreg.reproduce.formats import SUFFIXES, render
from sag_vicreg.reproduce.grid import EVALUATION_SECONDS, WorkerPool, outline, run_grid
from sag_vicreg.reproduce.plan import Evaluation, model_label
from sag_vicreg.reproduce.store import Store
from sag_vicreg.reproduce.tables import Table


@dataclass(frozen=True)
class Target:
    """What one name asks for, planned.

    Attributes
    ----------
    evaluations
        In the order in which results should come; none of what is measured anew each time.
    tables
        Results by key to the tables of this target, as far as they are finished.
    tag
        What tells the files of its tables from those of other choices; empty where there are none.
    """

    name: str
    evaluations: Sequence[Evaluation]
    tables: Callable[[Mapping[str, Result]], Sequence[Table]]
    tag: str = ""


@dataclass(frozen=True)
class Campaign:
    """A store, who works on it, and how its tables are printed."""

    store: Store
    workers: WorkerPool
    echo: Callable[[str], None] = print
    style: str = "markdown"

    def __post_init__(self) -> None:
        check_name("format", self.style, SUFFIXES)

    def work(self, evaluations: Sequence[Evaluation]) -> None:
        """Train and evaluate what is missing; add forests to results that were made without."""
        run_grid(evaluations, self.store, self.workers, note=self.echo)
        complete_forests(evaluations, self.store, self.echo)

    def finish(self, target: Target, *, run: bool = True) -> bool:
        """Do what is missing, unless told not to; print and keep the tables.

        Returns whether the target is complete.
        """
        if run:
            self.work(target.evaluations)
        elif not target.evaluations:
            return True  # nothing of it is ever kept that could be printed
        results = self.store.results()
        for table in target.tables(results):
            name = f"{table.name}-{target.tag}" if target.tag else table.name
            for style, suffix in SUFFIXES.items():
                write_text(self.store.root / "tables" / f"{name}{suffix}", render(table, style))
            self.echo(render(table, self.style))
        return all(evaluation.key in results for evaluation in target.evaluations)

    def estimate(self, targets: Sequence[Target]) -> None:
        """Print every model to train, its size, and a measured estimate of time; write nothing."""
        require_train_extra("a dry run")
        total = 0.0
        measured: dict[str, float] = {}  # held, not kept: a dry run writes nothing
        # Tables share models and evaluations: each is counted where it is first needed.
        counted: set[str] = set()
        for target in targets:
            if not target.evaluations:
                self.echo(f"{target.name}: measured when it is run; no estimate")
                continue
            todo = outline(target.evaluations, self.store)
            self.echo(
                f"{target.name}: {len(todo.evaluations)} evaluations, "
                f"{len(todo.evaluations) - len(todo.to_evaluate)} done; "
                f"{len(todo.to_train)} models to train, {len(todo.trained)} trained"
            )
            models = {r.digest(): r for r in todo.to_train if r.digest() not in counted}
            evaluations = {evaluation.key for evaluation in todo.to_evaluate} - counted
            counted |= models.keys() | evaluations
            total += len(evaluations) * EVALUATION_SECONDS
            for recipe in models.values():
                seconds = seconds_of(recipe, measured, self.workers.threads)
                steps = steps_of(recipe)
                left = seconds * (1 - self.store.share_done(recipe, steps))
                total += left
                self.echo(
                    f"  {model_label(recipe)}: {recipe.backbone.name}, {steps:,} steps of "
                    f"{recipe.batch_size}, {seconds / steps:.3f} s per step, {_duration(left)}"
                )
        if any(target.evaluations for target in targets):
            self.echo(
                f"estimated time with {self.workers.jobs} at once: about "
                f"{_duration(total / self.workers.jobs)}"
            )


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"

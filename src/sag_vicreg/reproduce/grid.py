"""The grid: what is done is left alone, the rest is trained and evaluated, and any end is safe."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sag_vicreg.errors import require_train_extra
from sag_vicreg.machine import core_count, thread_count
from sag_vicreg.progress import progress_bar
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce.estimate import steps_of
from sag_vicreg.reproduce.executors import ClusterExecutor, Processes
from sag_vicreg.reproduce.plan import Evaluation, model_label
from sag_vicreg.reproduce.scheduler import Executor, Task, run_tasks
from sag_vicreg.reproduce.store import Store
from sag_vicreg.reproduce.work import evaluate_models, train_model

# Only for the bar, which corrects itself: what a step of the CPU scale is meant to take, and
# embedding and trees of a few thousand images.
STEP_SECONDS, EVALUATION_SECONDS = 0.15, 20.0


@dataclass(frozen=True)
class Outline:
    """What a list of evaluations comes down to, each model and evaluation once."""

    evaluations: list[Evaluation]
    to_evaluate: list[Evaluation]
    to_train: list[Recipe]
    trained: list[Recipe]


def outline(evaluations: Iterable[Evaluation], store: Store) -> Outline:
    """Sort evaluations and their models into done and to do.

    A model whose every evaluation is done is not needed, whether or not it is still on disk.
    """
    unique = list({evaluation.key: evaluation for evaluation in evaluations}.values())
    known = store.results()
    to_evaluate = [evaluation for evaluation in unique if evaluation.key not in known]
    recipes = {recipe.digest(): recipe for e in to_evaluate for recipe in e.recipes}
    return Outline(
        unique,
        to_evaluate,
        [recipe for recipe in recipes.values() if not store.is_settled(recipe)],
        [recipe for recipe in recipes.values() if store.is_settled(recipe)],
    )


@dataclass(frozen=True)
class WorkerPool:
    """Who does the work: so many at once, here or on a cluster."""

    jobs: int = 1
    cluster: str | None = None
    cluster_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def threads(self) -> int | None:
        """Return this machine's cores shared between jobs; on a cluster the job's own.

        ``OMP_NUM_THREADS`` may ask for fewer, as everywhere.
        """
        if self.cluster:
            return None
        return min(thread_count(), max(1, core_count() // self.jobs))

    def executor(self, store: Store) -> AbstractContextManager[Executor]:
        """Return what runs the tasks."""
        if self.cluster is None:
            return closing(Processes(store.root / "workers.log"))
        return nullcontext(
            ClusterExecutor(store.root / "cluster", self.cluster, self.cluster_options)
        )


def run_grid(
    evaluations: Sequence[Evaluation],
    store: Store,
    workers: WorkerPool,
    *,
    note: Callable[[str], None] = lambda line: None,
) -> None:
    """Train and evaluate what is missing, under one bar with an ETA over everything.

    Parameters
    ----------
    evaluations
        What is wanted, in the order in which results should come.
    store
        Where models and results are kept, and what counts as done.
    workers
        Who works.
    note
        Told one line about each finished or failed task.
    """
    todo = outline(evaluations, store)
    if not todo.to_evaluate:
        return
    require_train_extra("reproduce")
    _check_data(todo.to_evaluate)
    missing = {recipe.digest() for recipe in todo.to_train}
    tasks: dict[str, Task] = {}
    for evaluation in todo.to_evaluate:
        # A model stands right before the first evaluation that needs it: results come early.
        for recipe in evaluation.recipes:
            if recipe.digest() in missing and recipe.digest() not in tasks:
                steps = steps_of(recipe)
                tasks[recipe.digest()] = Task(
                    recipe.digest(),
                    f"training {model_label(recipe)}",
                    train_model,
                    (recipe, store, workers.threads),
                    seconds=STEP_SECONDS * steps,
                    progress=partial(store.share_done, recipe, steps),
                    free=partial(store.is_free, recipe.digest()),
                )
        tasks[evaluation.key] = Task(
            evaluation.key,
            evaluation.label,
            evaluate_models,
            (evaluation, store, workers.threads),
            needs=tuple(recipe.digest() for recipe in evaluation.recipes),
            seconds=EVALUATION_SECONDS,
            free=partial(store.is_free, evaluation.key),
        )
    with (
        workers.executor(store) as executor,
        progress_bar(
            f"{len(tasks)} tasks, estimated seconds", sum(task.seconds for task in tasks.values())
        ) as advance,
    ):
        run_tasks(tasks.values(), executor, jobs=workers.jobs, advance=advance, note=note)


def _check_data(evaluations: Sequence[Evaluation]) -> None:
    """Refuse a missing dataset before anything is trained."""
    from sag_vicreg.data import check_dataset

    trained_on = {recipe.dataset.name for e in evaluations for recipe in e.recipes}
    for name in sorted(trained_on | {e.images.dataset for e in evaluations}):
        check_dataset(name)

"""What a worker does: train one model, or evaluate trained ones. Each is safe to repeat.

Both run in a process of their own, on this machine or on a cluster's node. They take the lock
first, look whether the work is done, and write their last file last.
"""

import time
from dataclasses import asdict
from importlib.metadata import version

from sag_vicreg.artifacts import Result
from sag_vicreg.errors import TrainingStopped
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce.plan import Evaluation
from sag_vicreg.reproduce.scheduler import BUSY, DONE
from sag_vicreg.reproduce.scoring import SCORERS, Scored
from sag_vicreg.reproduce.store import Store


def train_model(recipe: Recipe, store: Store, threads: int | None) -> str:
    """Train one model, going on from its last checkpoint if there is one."""
    with store.hold(recipe.digest()) as mine:
        if not mine:
            return BUSY
        if store.is_settled(recipe):
            return DONE
        from sag_vicreg.training import train

        _limit_threads(threads)
        run = store.run(recipe)
        started = time.perf_counter()
        try:
            train(recipe, run.folder, resume=run.recipe.is_file())
        except TrainingStopped as error:
            store.remember_failure(recipe, str(error))
        finally:
            # A training that ended before it began leaves no folder that could not be begun again.
            if run.recipe.is_file():
                store.add_train_seconds(recipe, time.perf_counter() - started)
    return DONE


def evaluate_models(evaluation: Evaluation, store: Store, threads: int | None) -> str:
    """Embed the evaluation's images by its models, score them, keep the result."""
    with store.hold(evaluation.key) as mine:
        if not mine:
            return BUSY
        if evaluation.key in store.results():
            return DONE
        _limit_threads(threads)
        started = time.perf_counter()
        failure = next(filter(None, map(store.failure, evaluation.recipes)), None)
        runs = list(map(store.run, evaluation.recipes))
        scored = Scored({}, 0) if failure else SCORERS[evaluation.kind](evaluation, runs)
        Result(
            kind=evaluation.kind,
            key=evaluation.key,
            family=evaluation.family,
            method=evaluation.method,
            seed=evaluation.seed,
            images=asdict(evaluation.images),
            options=dict(evaluation.options),
            models=[recipe.model_dump(mode="json") for recipe in evaluation.recipes],
            n_images=scored.n_images,
            scores=scored.scores,
            half_samples=scored.half_samples,
            seconds={
                "train": round(sum(map(store.train_seconds, evaluation.recipes)), 1),
                "evaluate": round(time.perf_counter() - started, 1),
            },
            versions={name: version(name) for name in ("torch", "timm", "numpy", "scipy")},
            failure=failure,
            measures=list(map(store.last_measures, evaluation.recipes)),
        ).write(store.results_folder)
    return DONE


def _limit_threads(threads: int | None) -> None:
    """Leave the other cores to the other jobs."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)

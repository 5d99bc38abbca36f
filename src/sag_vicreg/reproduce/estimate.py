"""How long a training will take: its steps, times the seconds of a step measured here and now."""

import json
import tempfile
from pathlib import Path

import numpy as np

from sag_vicreg.recipes import Recipe, find_dataset

MEASURED_STEPS = 12
WARMUP_STEPS = 4


def steps_of(recipe: Recipe) -> int:
    """Return a training's optimiser steps; epochs are counted by the dataset's nominal size."""
    entry = find_dataset(recipe.dataset.name)
    images = (entry and entry.train_images) or 10_000
    # The paper's halves hold about half of them.
    if recipe.dataset.classes in ("first", "second"):
        images //= 2
    images = min(images, recipe.dataset.max_images or images)
    # Fewer images than a batch are refused by the training itself, with the remedy.
    return max(1, recipe.schedule.total_steps(images // (recipe.batch_size * recipe.accumulate)))


def step_shape(recipe: Recipe, threads: int | None) -> str:
    """Name what decides a step's time: architecture, method, batch, image size, threads."""
    content = recipe.model_dump(
        mode="json",
        include={"backbone", "method", "views", "batch_size", "accumulate", "precision"},
    )
    rest = (recipe.dataset.image_size, recipe.optimizer.name, threads)
    return json.dumps([content, rest], sort_keys=True)


def rehearsal(recipe: Recipe, steps: int) -> Recipe:
    """Return the same training for a few steps on drawn images: no dataset needed, no measures."""
    return Recipe.model_validate(
        recipe.model_dump()
        | {
            "dataset": {
                "name": "shapes",
                "image_size": recipe.dataset.image_size,
                "max_images": max(2 * recipe.batch_size * recipe.accumulate, 96),
            },
            "schedule": {"steps": steps, "warmup_share": 0.0},
            # Every training measures itself when it ends: here of as few images as can be.
            "monitor": {
                "log_every": 1,
                "checkpoint_every": steps,
                "measure_every": 10 * steps,
                "probe_images": 48,
            },
        }
    )


def measure_step(recipe: Recipe, *, threads: int | None = None) -> float:
    """Train a few real steps and return the median seconds of one, the first ones left out.

    ``threads`` is how many a worker would have; None leaves them as they are.
    """
    import torch

    from sag_vicreg.training import train
    from sag_vicreg.training.measures import same_threads

    with same_threads(), tempfile.TemporaryDirectory(prefix="sag-vicreg-") as folder:
        torch.set_num_threads(threads or torch.get_num_threads())
        run = train(rehearsal(recipe, MEASURED_STEPS), Path(folder) / "run")
        rates = run.read_metrics()["images_per_second"]
    return recipe.batch_size * recipe.accumulate / float(np.median(rates[WARMUP_STEPS:]))


def seconds_of(recipe: Recipe, measured: dict[str, float], threads: int | None) -> float:
    """Estimate a training's seconds in so many threads; a step not yet ``measured`` is, once."""
    shape = step_shape(recipe, threads)
    if shape not in measured:
        measured[shape] = measure_step(recipe, threads=threads)
    return measured[shape] * steps_of(recipe)

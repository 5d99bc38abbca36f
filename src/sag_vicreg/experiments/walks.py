"""Pairs of a trained model's random walk, for figure 3."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import load_recipe
from sag_vicreg.recipes.method_sections import SAGVICRegSection


@dataclass(frozen=True)
class Pairs:
    """Images where walks start and end, their classes, and the weight of each pair."""

    starts: Sequence[NDArray[np.uint8]]
    ends: Sequence[NDArray[np.uint8]]
    start_classes: Sequence[str]
    end_classes: Sequence[str]
    weights: Sequence[float]


def walk_pairs(run: Run, *, count: int = 5, seed: int = 0) -> Pairs:
    """Walk once over a batch of training images, as training does, and keep pairs that leave home.

    The method comes from the run's last checkpoint, expander included: the walk runs over ``z``.
    """
    import torch

    from sag_vicreg.data import load_dataset, make_views
    from sag_vicreg.methods.vicreg import VICReg
    from sag_vicreg.pairing import neighbor_affinity, random_walk
    from sag_vicreg.training.restore import restore_method

    recipe = load_recipe(run.recipe)
    settings = recipe.method
    if not isinstance(settings, SAGVICRegSection):
        raise InputError(f"{run.folder} trained {settings.name}: figure pairs needs sag-vicreg")
    method = restore_method(run, recipe)
    assert isinstance(method, VICReg)

    section = recipe.dataset
    data = load_dataset(
        section.name,
        split="train",
        classes=section.classes,
        image_size=section.image_size,
        max_images=section.max_images,
        seed=section.seed,
    )
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(data), generator=generator)[: recipe.batch_size]
    images = data.batch(rows)
    views = make_views(recipe.views.kind, section.image_size, crop_scale=recipe.views.crop_scale)(
        images, generator=generator
    )
    with torch.inference_mode():
        z, z_prime = method.embed(views)
        affinity = neighbor_affinity(
            z,
            z_prime,
            k=settings.k,
            percentile=settings.percentile,
            scale_over=settings.scale_over,
        )
        walked = random_walk(affinity, generator=generator)
    ends = walked.indices
    moved = torch.nonzero(ends != torch.arange(len(ends)))[:, 0][:count]
    if len(moved) == 0:
        raise InputError("every walk of this batch ended at its own image: try another --seed")
    names = [data.class_names[label] for label in data.labels[rows].tolist()]
    pixels = images.permute(0, 2, 3, 1).numpy()
    stops = ends[moved].tolist()
    return Pairs(
        [pixels[i] for i in moved.tolist()],
        [pixels[i] for i in stops],
        [names[i] for i in moved.tolist()],
        [names[i] for i in stops],
        walked.weights[moved].tolist(),
    )

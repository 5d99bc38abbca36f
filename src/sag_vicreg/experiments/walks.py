"""Pairs of a random walk over a trained model's embeddings, for figure 3."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import load_recipe
from sag_vicreg.recipes.method_sections import WalkSettings


@dataclass(frozen=True)
class Pairs:
    """Images where walks start and end, their classes, and the weight of each pair.

    Over the whole batch: how many of its ``rows`` walks ``left`` their image, and how many had
    their own view among the ``k`` nearest (``own_view_near``).
    """

    starts: Sequence[NDArray[np.uint8]]
    ends: Sequence[NDArray[np.uint8]]
    start_classes: Sequence[str]
    end_classes: Sequence[str]
    weights: Sequence[float]
    rows: int
    left: int
    own_view_near: int
    k: int


def walk_pairs(run: Run, *, count: int = 5, seed: int = 0) -> Pairs:
    """Walk once over a batch of training images, as training does, and keep pairs that leave home.

    The method comes from the run's last checkpoint, expander included: the walk runs over ``z``.
    A model that was trained without the walk is walked on with the paper's kernel.
    """
    import torch

    from sag_vicreg.methods.two_views import TwoViewMethod
    from sag_vicreg.pairing import neighbor_affinity, random_walk
    from sag_vicreg.training.inputs import load_images, recipe_views
    from sag_vicreg.training.restore import restore_method

    recipe = load_recipe(run.recipe)
    method = restore_method(run, recipe)
    if not isinstance(method, TwoViewMethod):
        raise InputError(
            f"{run.folder} trained {recipe.method.name}, which embeds no two views of an image: "
            f"figure pairs needs a method that does, as sag-vicreg"
        )
    trained = recipe.method
    walk = trained if isinstance(trained, WalkSettings) else WalkSettings()

    data = load_images(recipe, "train", root=None)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(data), generator=generator)[: recipe.batch_size]
    images = data.batch(rows)
    views = recipe_views(recipe)(images, generator=generator)
    with torch.inference_mode():
        z, z_prime = method.embed(views)
        affinity = neighbor_affinity(
            z,
            z_prime,
            k=walk.k,
            percentile=walk.percentile,
            scale_over=walk.scale_over,
        )
        walked = random_walk(affinity, generator=generator)
    ends = walked.indices
    own = torch.arange(len(ends))
    left = torch.nonzero(ends != own)[:, 0]
    if len(left) == 0:
        raise InputError("every walk of this batch ended at its own image: try another --seed")
    names = [data.class_names[label] for label in data.labels[rows].tolist()]
    shown = left[:count]
    pixels = images.permute(0, 2, 3, 1).numpy()
    stops = ends[shown].tolist()
    return Pairs(
        [pixels[i] for i in shown.tolist()],
        [pixels[i] for i in stops],
        [names[i] for i in shown.tolist()],
        [names[i] for i in stops],
        walked.weights[shown].tolist(),
        rows=len(ends),
        left=len(left),
        own_view_near=int((affinity.indices == own[:, None]).any(dim=1).sum()),
        k=walk.k,
    )

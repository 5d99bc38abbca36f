"""Figure 3, computed: pairs of a random walk over a trained model's embeddings."""

import numpy as np

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.figures.pairs import ImagePairs
from sag_vicreg.recipes import load_recipe
from sag_vicreg.recipes.method_sections import WalkSettings


def walk_pairs(run: Run, title: str, *, count: int = 5, seed: int = 0) -> ImagePairs:
    """Walk once over a batch of training images, as training does, and keep pairs that leave home.

    The method comes from the run's last checkpoint, expander included: the walk runs over ``z``,
    by the run's own reading. A model that was trained without the walk is walked on with the
    paper's kernel.
    """
    import torch

    from sag_vicreg.methods import TwoViewMethod
    from sag_vicreg.pairing import RandomWalkPairing, own_view_rank
    from sag_vicreg.training.inputs import load_images, recipe_views
    from sag_vicreg.training.restore import restore_method

    recipe = load_recipe(run.recipe)
    method = restore_method(run, recipe)
    if not isinstance(method, TwoViewMethod):
        raise InputError(
            f"{run.folder} trained {recipe.method.name}, which embeds no two views of an image: "
            f"figure pairs needs a method that does, as sag-vicreg"
        )
    section = recipe.method
    # Peers know the walk's settings too, whether or not they walk.
    walks = getattr(section, "pairing", "random_walk") == "random_walk"
    walk = section if isinstance(section, WalkSettings) and walks else WalkSettings()

    data = load_images(recipe, "train", root=None)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(data), generator=generator)[: recipe.batch_size]
    images = data.batch(rows)
    views = recipe_views(recipe)(images, generator=generator)
    with torch.inference_mode():
        z, z_prime = (method.head(method.backbone(view)) for view in views)
        pairing = RandomWalkPairing(walk.k, **walk.options())
        walked = pairing(z, z_prime, progress=1.0, generator=generator)
        rank = own_view_rank(z, z_prime)
    ends = walked.indices
    left = torch.nonzero(ends != torch.arange(len(ends)))[:, 0]
    if len(left) == 0:
        raise InputError("every walk of this batch ended at its own image: try another --seed")
    classes = data.labels[rows]
    names = np.array(data.class_names)[classes]
    pixels = images.permute(0, 2, 3, 1).numpy()
    shown = left[:count]
    stops = ends[shown]
    return ImagePairs(
        title,
        pixels[shown],
        pixels[stops],
        names[shown],
        names[stops],
        walked.weights[shown].numpy(),
        rows=len(ends),
        left=len(left),
        same_class=int((classes[left] == classes[ends[left]]).sum()),
        own_view_nearest=int((rank == 0).sum()),
        own_view_near=int((rank < walk.k).sum()),
        k=walk.k,
    )

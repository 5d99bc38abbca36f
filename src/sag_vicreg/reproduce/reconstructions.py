"""Test images as a trained masked autoencoder sees and paints them."""

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.figures.reconstructions import Reconstructions
from sag_vicreg.recipes import load_recipe


def reconstruct(run: Run, *, count: int = 8, seed: int = 0) -> Reconstructions:
    """Mask ``count`` test images, drawn by ``seed``, and let the run's decoder paint them."""
    import torch

    from sag_vicreg.data import denormalize, normalize
    from sag_vicreg.methods.mae import MAE
    from sag_vicreg.methods.masks import random_masks
    from sag_vicreg.training.inputs import load_images
    from sag_vicreg.training.restore import restore_method

    recipe = load_recipe(run.recipe)
    if recipe.method.name != "mae":
        raise InputError(
            f"{run.folder} trained {recipe.method.name}: figure reconstructions needs mae"
        )
    method = restore_method(run, recipe)
    assert isinstance(method, MAE)
    data = load_images(recipe, "test", root=None)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(data), generator=generator)[:count]
    images = normalize(data.batch(rows.numpy()))
    visible, _ = random_masks(
        len(images), method.n_patches, mask_ratio=method.mask_ratio, generator=generator
    )
    masked, painted = method.reconstruct(images, visible)
    return Reconstructions(
        *(denormalize(picture).permute(0, 2, 3, 1).numpy() for picture in (masked, painted, images))
    )

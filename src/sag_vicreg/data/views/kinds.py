"""The published recipes by name, and the views they make of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sag_vicreg.data.views.view import ViewDraw, ViewRecipe
from sag_vicreg.errors import InputError, check_name
from sag_vicreg.published import CROP_SCALES, LOCAL_CROP_SCALE, PUBLISHED_SIZE

# Up to here SimCLR halves its colour changes, as its authors do on CIFAR.
SMALL_IMAGE = 64


@dataclass(frozen=True)
class Views:
    """Views of a batch of images, every image with its own draw.

    Examples
    --------
    >>> views = make_views("vicreg", 32)
    >>> images = torch.zeros(8, 3, 32, 32, dtype=torch.uint8)
    >>> first, second = views(images, generator=torch.Generator().manual_seed(0))
    >>> first.shape
    torch.Size([8, 3, 32, 32])
    """

    recipes: tuple[ViewRecipe, ...]

    def __call__(self, images: Tensor, *, generator: torch.Generator) -> list[Tensor]:
        """Make every view of every image.

        Parameters
        ----------
        images
            uint8 (n, 3, h, w), on the device that is to do the work.
        generator
            On the CPU. The draws are all it decides, so equal generators make equal views on any
            device.

        Returns
        -------
        One float tensor (n, 3, size, size) per view, normalised.
        """
        if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3:
            raise InputError(
                f"views are made of uint8 images (n, 3, h, w), not {images.dtype} "
                f"{tuple(images.shape)}"
            )
        return self.make(images, self.draw(len(images), generator))

    def draw(self, n: int, generator: torch.Generator) -> list[ViewDraw]:
        """Draw everything random about the views of ``n`` images.

        A draw can be indexed: a process draws for the whole batch of all of them and keeps its
        rows, so their number changes nothing.
        """
        return [recipe.draw(n, generator) for recipe in self.recipes]

    def make(self, images: Tensor, draws: Sequence[ViewDraw]) -> list[Tensor]:
        """Make the views of whole images as drawn."""
        return [recipe.make(images, draw) for recipe, draw in zip(self.recipes, draws, strict=True)]

    def finish(self, crops: Sequence[Tensor], draws: Sequence[ViewDraw]) -> list[Tensor]:
        """Make the views of what ``ImageDataset.crops`` cut out, as drawn."""
        return [
            recipe.finish(crop, draw)
            for recipe, crop, draw in zip(self.recipes, crops, draws, strict=True)
        ]


VIEW_KINDS = tuple(CROP_SCALES)


def make_views(
    kind: str,
    image_size: int,
    *,
    crop_scale: tuple[float, float] | None = None,
    local_views: int = 8,
    local_size: int | None = None,
    local_scale: tuple[float, float] = LOCAL_CROP_SCALE,
) -> Views:
    """Build the views a method was published with.

    Parameters
    ----------
    kind
        ``vicreg`` and ``barlow-twins`` (one recipe: blur and solarise differ between the two
        views), ``simclr``, ``dino``, ``crop``: one crop and flip, for MAE, or ``i-jepa``: one crop
        that is never flipped.
    image_size
        Height and width of the views, of the global ones with ``dino``. Below 224 the blur's sigma
        shrinks in proportion; its probability stays.
    crop_scale
        Share of the image a crop covers; by default the recipe's own.
    local_views, local_size, local_scale
        DINO's small crops: how many, of what size (by default 96/224 of the image, to a multiple
        of 4), and how much of the image they cover.
    """
    check_name("kind of views", kind, VIEW_KINDS)
    plain = ViewRecipe(image_size, crop_scale or CROP_SCALES[kind])
    if kind == "crop":
        return Views((plain,))
    if kind == "i-jepa":
        return Views((replace(plain, flip=0.0),))
    shrink = min(1.0, image_size / PUBLISHED_SIZE)  # below it, blurs shrink with the image
    coloured = replace(plain, jitter=0.8, grey=0.2, sigma=(0.1 * shrink, 2.0 * shrink))
    if kind == "simclr":
        strength = 0.5 if image_size <= SMALL_IMAGE else 1.0
        reach = (0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)
        view = replace(coloured, jitter_strength=reach, blur=0.5)
        return Views((view, view))
    first, second = replace(coloured, blur=1.0), replace(coloured, blur=0.1, solarise=0.2)
    if kind == "dino":
        size = local_size or max(4, 4 * round(image_size * 96 / PUBLISHED_SIZE / 4))
        local = replace(coloured, size=size, crop_scale=local_scale, blur=0.5)
        return Views((first, second, *[local] * local_views))
    return Views((first, second))

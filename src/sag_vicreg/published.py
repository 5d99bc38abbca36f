"""What the methods were published with, as plain numbers: crops, normalisation, patches.

Without PyTorch, so that a recipe can be checked by the same arithmetic that cuts its masks.
"""

import math

CROP_SCALES = {
    "vicreg": (0.08, 1.0),
    "barlow-twins": (0.08, 1.0),
    "simclr": (0.08, 1.0),
    "dino": (0.4, 1.0),
    "crop": (0.2, 1.0),
    "i-jepa": (0.3, 1.0),
}
"""Kinds of views, and the share of the image a crop of each was published with."""

SINGLE_VIEWS = ("crop", "i-jepa")
TWO_VIEWS = ("vicreg", "barlow-twins", "simclr")
"""Kinds that make one view of an image, and two; DINO's are two and small crops beside them."""

LOCAL_CROP_SCALE = (0.05, 0.4)
"""DINO's small crops: the share of the image they cover."""

PUBLISHED_SIZE = 224
"""Pixels of the photographs that backbones and views were published for."""

IMAGE_MEAN = (0.485, 0.456, 0.406)
IMAGE_STD = (0.229, 0.224, 0.225)
"""ImageNet's, which nearly every published backbone expects; for every dataset, so that a trained
backbone needs no word about where it was trained."""


def visible_patches(patches: int, mask_ratio: float) -> int:
    """Patches MAE leaves visible out of ``patches``, rounded down as in the official code."""
    return int(patches * (1 - mask_ratio))


def block_shape(side: int, scale: float, aspect: float) -> tuple[int, int]:
    """Height and width in patches of a block that covers ``scale`` of a square grid.

    Examples
    --------
    >>> block_shape(14, 0.2, 1.5)
    (8, 5)
    """
    area = scale * side * side
    height, width = (
        min(max(math.floor(math.sqrt(square) + 0.5), 1), side)
        for square in (area * aspect, area / aspect)
    )
    return height, width


def fewest_context_patches(
    side: int,
    *,
    target_scale: tuple[float, float],
    target_aspect: tuple[float, float],
    context_scale: tuple[float, float],
) -> int:
    """Context patches that are left when the smallest context loses one largest target block.

    The other blocks can always be put where the first lies, so this many can be guaranteed.
    """
    context = math.prod(block_shape(side, context_scale[0], 1.0))
    low, high = target_aspect
    area = target_scale[1] * side * side
    # A block's size jumps where its height or width crosses a half; the largest is at a jump.
    halves = [(m + 0.5) ** 2 for m in range(side)]
    jumps = [half / area for half in halves] + [area / half for half in halves]
    aspects = [low, high, *(aspect for aspect in jumps if low <= aspect <= high)]
    return context - max(math.prod(block_shape(side, target_scale[1], each)) for each in aspects)

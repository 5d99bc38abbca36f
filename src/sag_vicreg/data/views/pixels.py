"""From pixel values to what a network is fed."""

import torch
from torch import Tensor

# ImageNet's, which nearly every published backbone expects; for every dataset, so that a trained
# backbone needs no word about where it was trained.
IMAGE_MEAN = (0.485, 0.456, 0.406)
IMAGE_STD = (0.229, 0.224, 0.225)


def normalize(
    images: Tensor,
    mean: tuple[float, ...] = IMAGE_MEAN,
    std: tuple[float, ...] = IMAGE_STD,
) -> Tensor:
    """Shift and scale images (n, 3, h, w), uint8 or float in [0, 1], to float by channel."""
    scale = 255.0 if images.dtype == torch.uint8 else 1.0
    shift, spread = (
        torch.tensor(values, device=images.device).view(-1, 1, 1) for values in (mean, std)
    )
    return (images / (scale * spread)).sub_(shift / spread)


def denormalize(
    images: Tensor,
    mean: tuple[float, ...] = IMAGE_MEAN,
    std: tuple[float, ...] = IMAGE_STD,
) -> Tensor:
    """Undo :func:`normalize`: uint8 images, for looking at."""
    shift, spread = (
        torch.tensor(values, device=images.device).view(-1, 1, 1) for values in (mean, std)
    )
    return ((images * spread + shift) * 255).round_().clamp_(0, 255).to(torch.uint8)

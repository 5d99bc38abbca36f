"""From pixel values to what a network is fed."""

import torch
from torch import Tensor

from sag_vicreg.published import IMAGE_MEAN, IMAGE_STD


def normalize(
    images: Tensor,
    mean: tuple[float, ...] = IMAGE_MEAN,
    std: tuple[float, ...] = IMAGE_STD,
) -> Tensor:
    """Shift and scale images (n, 3, h, w), uint8 or float in [0, 1], to float by channel."""
    scale = 255.0 if images.dtype == torch.uint8 else 1.0
    shift, deviation = (
        torch.tensor(values, device=images.device).view(-1, 1, 1) for values in (mean, std)
    )
    return (images / (scale * deviation)).sub_(shift / deviation)


def denormalize(
    images: Tensor,
    mean: tuple[float, ...] = IMAGE_MEAN,
    std: tuple[float, ...] = IMAGE_STD,
) -> Tensor:
    """Undo :func:`normalize`: uint8 images, for looking at."""
    shift, deviation = (
        torch.tensor(values, device=images.device).view(-1, 1, 1) for values in (mean, std)
    )
    return ((images * deviation + shift) * 255).round_().clamp_(0, 255).to(torch.uint8)

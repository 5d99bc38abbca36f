"""Colour changes on batches in [0, 1], every image its own strength; torchvision's definitions.

Float precision is kept between steps, where Pillow rounds to 256 levels after each. Choices are
written as arithmetic: on a CPU `torch.where` costs twenty times a product.
"""

import torch
from torch import Tensor

BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)


def jitter(images: Tensor, factors: Tensor, order: Tensor) -> Tensor:
    """Change brightness, contrast, saturation and hue, each image in its own order.

    The first three are one operation, a blend with a reference: black, the image's mean grey, or
    each pixel's own grey. So in each turn a whole batch is blended at once, whatever each image's
    change is, and only the images whose turn it is for hue are picked out.

    Parameters
    ----------
    images
        (n, 3, h, w), overwritten.
    factors
        Strength of brightness, contrast, saturation (1 changes nothing) and hue (in turns, 0
        changes nothing), (n, 4).
    order
        A permutation of 0 to 3 per image, (n, 4).
    """
    for change in order.unbind(dim=1):
        factor = factors.gather(1, change[:, None])[:, 0]
        (hue,) = torch.nonzero(change == HUE, as_tuple=True)
        turned = turn_hue(images.index_select(0, hue), factor[hue])
        factor = factor.index_fill(0, hue, 1.0)
        grey = luma(images)
        mean = grey.flatten(1).mean(dim=1)
        reference = grey.mul_(_each((change == SATURATION).float()))
        reference += _each((change == CONTRAST) * mean)
        images = torch.lerp(reference, images, _each(factor)).clamp_(0, 1)
        images.index_copy_(0, hue, turned)
    return images


def turn_hue(images: Tensor, shift: Tensor) -> Tensor:
    """Turn every pixel's hue by ``shift`` (n,) turns, its value and chroma kept.

    A pixel of value v and chroma c has channels ``v - c * wedge(n + 6 hue)``, n = 5, 3, 1 for red,
    green and blue, so the turned image needs the hue but not the saturation of HSV.
    """
    red, green, blue = (channel.contiguous() for channel in images.unbind(dim=1))
    value = torch.maximum(torch.maximum(red, green), blue)
    chroma = value - torch.minimum(torch.minimum(red, green), blue)
    # Which channel is the largest; the first of equals.
    is_red = (value == red).float()
    is_green = (value == green).float().mul_(1 - is_red)
    is_blue = 1 - is_red - is_green
    rise = is_red * (green - blue)
    rise.addcmul_(is_green, blue - red).addcmul_(is_blue, red - green)
    # Grey pixels have no hue; any divisor will do, for their chroma is 0.
    sixths = rise.div_(chroma.clamp(min=1e-12))
    sixths.add_(is_green, alpha=2).add_(is_blue, alpha=4).add_(6 * shift[:, None, None])
    turned = torch.empty_like(images)
    for channel, offset in enumerate((5, 3, 1)):
        k = sixths + offset
        k.sub_(torch.floor(k / 6), alpha=6)
        wedge = k.sub_(2).abs_().neg_().add_(2).clamp_(0, 1)
        torch.addcmul(value, chroma, wedge, value=-1, out=turned[:, channel])
    return turned


def luma(images: Tensor) -> Tensor:
    """Grey values (n, 1, h, w) as the eye weighs red, green and blue (ITU-R 601)."""
    red, green, blue = images.split(1, dim=1)
    grey: Tensor = (red * 0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114)
    return grey


def solarise(images: Tensor, threshold: float = 128 / 255) -> Tensor:
    """Invert the values at or above ``threshold``."""
    light = (images >= threshold).to(images.dtype)
    return images + light * (1 - 2 * images)


def _each(values: Tensor) -> Tensor:
    return values[:, None, None, None]

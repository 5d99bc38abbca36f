"""Random resized crops of a whole batch, every image its own box, as two matrix products.

Resampling is linear and separable: a resized crop is ``Wy @ image @ Wx.T`` with one small matrix of
bicubic weights per side. The matrices hold the box, the antialiasing where the crop shrinks and the
flip, so a batch is cropped, resized and flipped by two batched products, to the numbers torchvision
gives one image at a time.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

# torchvision draws up to ten boxes until one fits in the image, then takes the centre.
ATTEMPTS = 10
# Keys' cubic with Pillow's coefficient, which torchvision uses when antialiasing.
_CUBIC = -0.5


@dataclass(frozen=True)
class CropDraw:
    """The random part of n crops, which fits images of any size.

    Attributes
    ----------
    uniforms
        Numbers in [0, 1), (n, 22).
    size
        Height and width every crop is resized to.
    scale, ratio
        Ranges of the share of the image a crop covers, and of its aspect ratio.
    """

    uniforms: Tensor
    size: int
    scale: tuple[float, float]
    ratio: tuple[float, float] = (3 / 4, 4 / 3)

    COLUMNS: ClassVar[int] = 2 * ATTEMPTS + 2

    def boxes(self, height: int, width: int) -> Tensor:
        """Boxes in images of one size: top, left, height, width in whole pixels, int64 (n, 4).

        The distribution is that of torchvision's ``RandomResizedCrop``.
        """
        areas, ratios, corners = self.uniforms.double().split([ATTEMPTS, ATTEMPTS, 2], dim=1)
        area = height * width * _between(areas, *self.scale)
        low, high = torch.tensor(self.ratio, dtype=torch.float64).log().tolist()
        ratio = _between(ratios, low, high).exp()
        tried = torch.stack([(area / ratio).sqrt().round(), (area * ratio).sqrt().round()], dim=2)
        size = torch.tensor([height, width], dtype=torch.float64)
        fits = ((tried > 0) & (tried <= size)).all(dim=2)
        sides = tried[torch.arange(len(tried)), fits.int().argmax(dim=1)]
        corner = (corners * (size - sides + 1)).floor()
        # Where none fits, the largest centred box whose aspect ratio is allowed.
        narrow, wide = self.ratio
        largest = [min(height, round(width / narrow)), min(width, round(height * wide))]
        centred = torch.tensor(largest, dtype=torch.float64)
        found = fits.any(dim=1, keepdim=True)
        sides = torch.where(found, sides, centred)
        corner = torch.where(found, corner, ((size - centred) / 2).floor())
        return torch.cat([corner, sides], dim=1).long()

    def __getitem__(self, rows: slice) -> "CropDraw":
        return replace(self, uniforms=self.uniforms[rows])


def _between(uniform: Tensor, low: float, high: float) -> Tensor:
    return low + (high - low) * uniform


def crop_resize(images: Tensor, boxes: Tensor, flip: Tensor, size: int) -> Tensor:
    """Crop, resize and flip.

    Parameters
    ----------
    images
        uint8 (n, 3, height, width).
    boxes
        Top, left, height, width of every crop, (n, 4).
    flip
        Which crops to mirror left to right, bool (n,).

    Returns
    -------
    Float (n, 3, size, size) in [0, 1].
    """
    n, channels, height, width = images.shape
    top, left, box_height, box_width = boxes.to(images.device).unbind(dim=1)
    rows = resampling(top, box_height, height, size)
    columns = resampling(left, box_width, width, size, flip=flip)
    # Rows first, all channels side by side: one product per image instead of one per channel.
    by_row = images.permute(0, 2, 1, 3).to(torch.float32, memory_format=torch.contiguous_format)
    resized = rows @ by_row.view(n, height, channels * width)
    crops = resized.view(n, size * channels, width) @ columns.mT
    crops = crops.view(n, size, channels, size).transpose(1, 2).contiguous()
    return crops.mul_(1 / 255).clamp_(0, 1)


def resampling(
    start: Tensor, length: Tensor, full: int, size: int, *, flip: Tensor | None = None
) -> Tensor:
    """Bicubic weights (n, size, full) that resize ``length`` pixels from ``start`` to ``size``.

    Pixels outside the box have no weight, as if the crop were cut out first. Where the box is
    larger than ``size`` the kernel widens with it: antialiasing. A flipped crop is walked through
    from its end.
    """
    start, length = start[:, None, None].float(), length[:, None, None].float()
    step = length / size
    place = torch.arange(size, device=start.device)[:, None] + 0.5
    if flip is not None:
        backwards = flip[:, None, None].float()
        place = place + backwards * (size - 2 * place)
    centre = start + step * place
    pixel = torch.arange(full, device=start.device) + 0.5
    weight = _keys_cubic((pixel - centre).div_(step.clamp(min=1)).abs_())
    weight *= (pixel > start) & (pixel < start + length)
    return weight.div_(weight.sum(dim=2, keepdim=True))


def _keys_cubic(x: Tensor) -> Tensor:
    """Keys' kernel of distances ``x`` >= 0, zero from 2 on.

    Written in what is left to the knots at 1 and 2, which needs no choice between two polynomials:
    a `torch.where` here costs more than the rest of the crop.
    """
    to_one, to_two = (1 - x).clamp_(min=0), (2 - x).clamp_(min=0)
    outer = to_two.square().mul_(to_two.sub_(1)).mul_(-_CUBIC)
    return outer.addcmul_(to_one.square(), to_one.mul(-2).add_(3 + 4 * _CUBIC))

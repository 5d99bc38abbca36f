"""One view of an image: what may happen to it, what was drawn, and doing it to a batch."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from sag_vicreg.data.views.blur import gaussian_blur
from sag_vicreg.data.views.colour import jitter, luma, solarise
from sag_vicreg.data.views.crops import CropDraw, crop_resize
from sag_vicreg.data.views.pixels import normalize
from sag_vicreg.errors import InputError

# Images worked on at a time on a CPU: few enough that they stay in its cache between steps.
_CPU_CHUNK = 128


@dataclass(frozen=True)
class ViewRecipe:
    """What may happen to an image on its way to one view, in this order.

    Attributes
    ----------
    size
        Height and width of the view.
    crop_scale
        Share of the image's area a crop may cover; its aspect ratio is 3/4 to 4/3.
    flip
        Probability of mirroring left to right.
    jitter, jitter_strength
        Probability of changing the colours, and how far brightness, contrast, saturation and hue
        may go.
    grey, blur, solarise
        Probabilities of losing colour, of a Gaussian blur, and of inverting light values.
    sigma
        Range of the blur, in pixels.
    """

    size: int
    crop_scale: tuple[float, float] = (0.08, 1.0)
    flip: float = 0.5
    jitter: float = 0.0
    jitter_strength: tuple[float, float, float, float] = (0.4, 0.4, 0.2, 0.1)
    grey: float = 0.0
    blur: float = 0.0
    sigma: tuple[float, float] = (0.1, 2.0)
    solarise: float = 0.0

    def __post_init__(self) -> None:
        low, high = self.crop_scale
        if self.size < 1:
            raise InputError(f"views of {self.size} px cannot be made: ask for at least 1")
        if not 0 < low <= high <= 1:
            raise InputError(
                f"crop_scale is {self.crop_scale}: give two shares, 0 < low <= high <= 1"
            )

    def draw(self, n: int, generator: torch.Generator) -> "ViewDraw":
        """Draw the fate of ``n`` images; a fixed amount of randomness, whatever the recipe."""
        columns = [CropDraw.COLUMNS, 5, 4, 4, 1]
        drawn = torch.rand(n, sum(columns), generator=generator).split(columns, dim=1)
        crop, chances, strengths, order, sigma = drawn
        likely = torch.tensor([self.flip, self.jitter, self.grey, self.blur, self.solarise])
        flip, jitters, grey, blur, solarises = (chances < likely).unbind(dim=1)
        factors = (2 * strengths - 1) * torch.tensor(self.jitter_strength)
        # Brightness, contrast and saturation are factors around 1, hue a shift around 0.
        factors[:, :3] = (1 + factors[:, :3]).clamp(min=0)
        low, high = self.sigma
        return ViewDraw(
            crop=CropDraw(crop, self.size, self.crop_scale),
            flip=flip,
            jitter=jitters,
            grey=grey,
            blur=blur,
            solarise=solarises,
            factors=factors,
            order=order.argsort(dim=1),
            sigma=low + (high - low) * sigma[:, 0],
        )

    def make(self, images: Tensor, draw: "ViewDraw") -> Tensor:
        """Make the view of whole images, uint8 (n, 3, h, w): float (n, 3, size, size)."""
        boxes = draw.crop.boxes(*images.shape[-2:])
        view = torch.empty(len(images), 3, self.size, self.size, device=images.device)
        for rows in _chunks(images):
            fate = draw[rows].to(images.device)
            crops = crop_resize(images[rows], boxes[rows], fate.flip, self.size)
            view[rows] = _recolour(crops, fate)
        return view

    def finish(self, crops: Tensor, draw: "ViewDraw") -> Tensor:
        """Make the view of images cropped and resized before, uint8 (n, 3, size, size)."""
        view = torch.empty(crops.shape, device=crops.device)
        for rows in _chunks(crops):
            fate = draw[rows].to(crops.device)
            pixels = crops[rows] / 255
            pixels = torch.where(fate.flip[:, None, None, None], pixels.flip(3), pixels)
            view[rows] = _recolour(pixels, fate)
        return view


@dataclass(frozen=True)
class ViewDraw:
    """What was drawn for each of n images: nothing else is random about a view.

    Attributes
    ----------
    crop
        Which part of the image.
    flip, jitter, grey, blur, solarise
        Whether each happens, bool (n,).
    factors, order
        Strengths of the four colour changes, and in which order, (n, 4).
    sigma
        Of the blur, (n,).
    """

    crop: CropDraw
    flip: Tensor
    jitter: Tensor
    grey: Tensor
    blur: Tensor
    solarise: Tensor
    factors: Tensor
    order: Tensor
    sigma: Tensor

    def __getitem__(self, rows: slice) -> "ViewDraw":
        return ViewDraw(*(getattr(self, name.name)[rows] for name in fields(self)))

    def to(self, device: torch.device) -> "ViewDraw":
        """Move what the device works with; boxes are reckoned where they were drawn."""
        moved = {f.name: getattr(self, f.name).to(device) for f in fields(self) if f.name != "crop"}
        return ViewDraw(crop=self.crop, **moved)


def _chunks(images: Tensor) -> list[slice]:
    n = len(images)
    step = _CPU_CHUNK if images.device.type == "cpu" else max(n, 1)
    return [slice(start, start + step) for start in range(0, n, step)]


def _recolour(images: Tensor, fate: ViewDraw) -> Tensor:
    """Everything after the crop, on images in [0, 1], which are overwritten."""
    images = _where(
        fate.jitter, images, lambda some, rows: jitter(some, fate.factors[rows], fate.order[rows])
    )
    # A copy: where all turn grey, what comes next writes into it.
    images = _where(fate.grey, images, lambda some, rows: luma(some).expand_as(some).clone())
    images = _where(fate.blur, images, lambda some, rows: gaussian_blur(some, fate.sigma[rows]))
    images = _where(fate.solarise, images, lambda some, rows: solarise(some))
    return normalize(images)


def _where(happens: Tensor, images: Tensor, change: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Change the images to which it happens, and touch no others."""
    (rows,) = happens.nonzero(as_tuple=True)
    if len(rows) == len(images):
        return change(images, rows)
    if len(rows):
        images.index_copy_(0, rows, change(images.index_select(0, rows), rows))
    return images

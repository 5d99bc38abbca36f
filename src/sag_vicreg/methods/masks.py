"""Which patches a masked method sees: MAE's random ones and I-JEPA's blocks.

Masks are drawn for the whole batch from a given generator, so that a resumed run and every process
of a distributed one draw the same; lightly's draw from PyTorch's global generator.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sag_vicreg.published import block_shape, visible_patches

_REDRAWS = 20


def random_masks(
    n: int, patches: int, *, mask_ratio: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw, for each of ``n`` images, the patches MAE shows and those it hides.

    Returns
    -------
    visible : (n, kept)
        Patch numbers, ``kept = int(patches * (1 - mask_ratio))`` of them.
    masked : (n, patches - kept)
        The others.
    """
    order = torch.rand(n, patches, generator=generator).argsort(dim=1)
    kept = visible_patches(patches, mask_ratio)
    return order[:, :kept], order[:, kept:]


@dataclass(frozen=True)
class BlockMasks:
    """I-JEPA's masks of a batch, as patch numbers in row-major order.

    Attributes
    ----------
    context : (n, kept)
        What the encoder sees of each image; none of it lies in a target of that image.
    targets : (blocks, n, size)
        The rectangles to predict. They may overlap one another.
    """

    context: Tensor
    targets: Tensor

    def rows(self, rows: slice) -> "BlockMasks":
        """Return the masks of some images of the batch."""
        return BlockMasks(self.context[rows], self.targets[:, rows])


def multiblock_masks(
    n: int,
    side: int,
    *,
    target_blocks: int,
    target_scale: tuple[float, float],
    target_aspect: tuple[float, float],
    context_scale: tuple[float, float],
    min_context_patches: int,
    generator: torch.Generator,
) -> BlockMasks:
    """Draw I-JEPA's multi-block masks (Assran et al., 2023, section 3) on a square grid.

    Block sizes are drawn once per batch, places once per image. An image whose targets cover too
    much of its context is drawn anew; if that keeps failing, all its targets take the first one's
    place. To stack them, contexts are trimmed to the batch's smallest at random.

    The official code, and lightly's port of it, differ in ways one would not choose: scale and
    aspect share one random number, blocks never touch the last row or column, contexts lose their
    bottom patches, and where space is short targets are let into the context.
    """
    target = block_shape(
        side,
        _between(target_scale, generator),
        _between(target_aspect, generator),
    )
    context = block_shape(side, _between(context_scale, generator), 1.0)

    targets = _blocks((n, target_blocks), side, target, generator)
    seen = _blocks((n,), side, context, generator) & ~targets.any(dim=1)
    for attempt in range(_REDRAWS + 1):
        short = seen.sum(dim=(1, 2)) < min_context_patches
        if not short.any():
            break
        drawn = _blocks((n, target_blocks), side, target, generator)
        if attempt == _REDRAWS:
            drawn = drawn[:, :1].expand_as(drawn)
        targets = torch.where(short[:, None, None, None], drawn, targets)
        redrawn = _blocks((n,), side, context, generator) & ~targets.any(dim=1)
        seen = torch.where(short[:, None, None], redrawn, seen)

    seen = seen.flatten(1)
    kept = int(seen.sum(dim=1).min())
    # Random numbers above all others push what is not seen out of the first places.
    noise = torch.rand(n, side * side, generator=generator).masked_fill(~seen, 2.0)
    trimmed = noise.argsort(dim=1)[:, :kept].sort(dim=1).values
    numbers = targets.flatten(2).nonzero()[:, 2].view(n, target_blocks, -1)
    return BlockMasks(trimmed, numbers.transpose(0, 1))


def _between(limits: tuple[float, float], generator: torch.Generator) -> float:
    low, high = limits
    return low + (high - low) * float(torch.rand((), generator=generator))


def _blocks(
    count: tuple[int, ...], side: int, shape: tuple[int, int], generator: torch.Generator
) -> Tensor:
    """Return one rectangle of ``shape`` at a random place of each ``(side, side)`` grid."""
    height, width = shape
    top = torch.randint(side - height + 1, count, generator=generator)[..., None]
    left = torch.randint(side - width + 1, count, generator=generator)[..., None]
    line = torch.arange(side)
    rows = (line >= top) & (line < top + height)
    columns = (line >= left) & (line < left + width)
    return rows[..., :, None] & columns[..., None, :]

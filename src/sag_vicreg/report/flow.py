"""The flow between the branches of two sets: where bars stand, and the ribbons between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import PALETTE

WIDTH = 320
_GAP = 10
# A bar is high enough for two lines of text beside it.
_LEAST, _HEIGHT = 46, 640
_REST = "var(--dim)"
_THIN = 0.004


@dataclass(frozen=True)
class Bar:
    """A branch on one side of the flow, in pixels from the top."""

    branch: int | None
    """Its place among the branches of its side; None for items in none of them."""
    top: float
    height: float
    color: str


@dataclass(frozen=True)
class Ribbon:
    """Items of one bar that are in another: an SVG path, its colour and what it says."""

    path: str
    color: str
    source: int
    target: int
    count: int


@dataclass(frozen=True)
class DrawnFlow:
    """Both sides and what flows between, in a box of :data:`WIDTH` by ``height`` pixels."""

    old: tuple[Bar, ...]
    new: tuple[Bar, ...]
    ribbons: tuple[Ribbon, ...]
    height: float


def draw_flow(counts: NDArray[np.int64]) -> DrawnFlow:
    """Lay out a table of counts, (old + 1, new + 1), whose last row and column are the rest.

    New branches stand beside the old ones most of their items come from.
    """
    n_old, n_new = (size - 1 for size in counts.shape)
    sizes_old, sizes_new = counts.sum(axis=1), counts.sum(axis=0)
    left = [*range(n_old), *([n_old] if sizes_old[-1] else [])]
    places = np.arange(len(counts))
    weight = (counts * places[:, None]).sum(axis=0) / np.maximum(sizes_new, 1)
    right = sorted(range(n_new), key=lambda k: weight[k]) + ([n_new] if sizes_new[-1] else [])
    height = max(_needed(sizes_old[left]), _needed(sizes_new[right]))
    colors = {k: PALETTE[k % len(PALETTE)].replace("#000000", "var(--neutral)") for k in left}
    colors[n_old] = _REST
    # A new branch has the colour of the old one it is mostly made of.
    main = {k: int(counts[:, k].argmax()) for k in right}
    old = _stack(left, sizes_old, height, n_old, colors)
    of_new = {k: _REST if k == n_new else colors[main[k]] for k in right}
    new = _stack(right, sizes_new, height, n_new, of_new)
    ribbons = _ribbons(counts, left, right, old, new)
    return DrawnFlow(tuple(old), tuple(new), tuple(ribbons), height)


def _needed(sizes: NDArray[np.int64]) -> float:
    return float(max(_HEIGHT, len(sizes) * (_LEAST + _GAP) + 0.35 * _HEIGHT))


def _stack(
    order: Sequence[int],
    sizes: NDArray[np.int64],
    height: float,
    rest: int,
    colors: dict[int, str],
) -> list[Bar]:
    """Stack bars from top to bottom: each its least height, the remainder by size."""
    free = height - len(order) * _LEAST - (len(order) - 1) * _GAP
    total, top, bars = sizes[list(order)].sum(), 0.0, []
    for k in order:
        tall = _LEAST + free * float(sizes[k]) / float(total)
        bars.append(Bar(None if k == rest else k, top, tall, colors[k]))
        top += tall + _GAP
    return bars


def _ribbons(
    counts: NDArray[np.int64],
    left: Sequence[int],
    right: Sequence[int],
    old: Sequence[Bar],
    new: Sequence[Bar],
) -> list[Ribbon]:
    sizes_old, sizes_new = counts.sum(axis=1), counts.sum(axis=0)
    used_old = {k: bar.top for k, bar in zip(left, old, strict=True)}
    used_new = {k: bar.top for k, bar in zip(right, new, strict=True)}
    found = []
    for i, bar in zip(left, old, strict=True):
        for j, other in zip(right, new, strict=True):
            count = int(counts[i, j])
            if count == 0:
                continue
            start, end = used_old[i], used_new[j]
            used_old[i] += bar.height * count / sizes_old[i]
            used_new[j] += other.height * count / sizes_new[j]
            # Ribbons too thin to see would only be a haze.
            if count >= _THIN * counts.sum():
                path = _path(start, used_old[i], end, used_new[j])
                found.append(Ribbon(path, bar.color, i, j, count))
    return found


def _path(top: float, bottom: float, new_top: float, new_bottom: float) -> str:
    middle = WIDTH / 2
    return (
        f"M0 {top:.1f}C{middle} {top:.1f} {middle} {new_top:.1f} {WIDTH} {new_top:.1f}"
        f"V{new_bottom:.1f}C{middle} {new_bottom:.1f} {middle} {bottom:.1f} 0 {bottom:.1f}Z"
    )

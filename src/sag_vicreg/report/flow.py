"""The flow between the branches of two sets: where bars stand, and the ribbons between them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.arrays import Ints
from sag_vicreg.figures.style import PALETTE

WIDTH = 320
_GAP = 10
# A bar is high enough for two lines of text beside it.
_LEAST, _HEIGHT = 46, 640
_REST = "var(--dim)"
_THIN = 0.004
# Of a branch, for it to be called by the name of one group.
_NEARLY_ALL = 0.8


@dataclass(frozen=True)
class Label:
    """What stands beside a branch: its name, a line about it, its fate, rows to show."""

    name: str
    about: str
    fate: str = ""
    examples: tuple[int, ...] = ()


def is_filled(groups: Counter[str]) -> bool:
    """Whether nearly all rows of a branch are of one group, by its rows in each."""
    return groups.most_common(1)[0][1] >= _NEARLY_ALL * groups.total()


def called_by(groups: Counter[str]) -> str:
    """Call a branch by the group of nearly all its rows, or by the two largest."""
    largest = groups.most_common(2)
    if is_filled(groups):
        return largest[0][0]
    return ", ".join(f"{name} {count / groups.total():.0%}" for name, count in largest)


@dataclass(frozen=True)
class Bar:
    """A branch on one side of the flow, in pixels from the top."""

    place: int
    """Its row or column in the table of counts."""
    label: Label
    top: float
    height: float
    color: str


@dataclass(frozen=True)
class Ribbon:
    """Items of one bar that are in another: an SVG path, and how many they are."""

    path: str
    source: Bar
    target: Bar
    count: int


@dataclass(frozen=True)
class DrawnFlow:
    """Both sides and what flows between, in a box of :data:`WIDTH` by ``height`` pixels."""

    old: tuple[Bar, ...]
    new: tuple[Bar, ...]
    ribbons: tuple[Ribbon, ...]
    height: float


def branch_color(place: int) -> str:
    """Return the colour of a branch in CSS; from the ninth on, a shade of an earlier one."""
    turn, which = divmod(place, len(PALETTE))
    # Black would vanish on a dark page.
    color = PALETTE[which].replace("#000000", "var(--neutral)")
    return f"color-mix(in srgb, {color} {100 // (turn + 1)}%, var(--ink))" if turn else color


def draw_flow(counts: Ints, old: Sequence[Label], new: Sequence[Label]) -> DrawnFlow:
    """Lay out a table of counts, whose last row and column are the items in no branch.

    ``old`` and ``new`` say what stands beside its rows and columns; those without items are not
    drawn. New branches stand beside the old ones most of their items come from.
    """
    sizes_old, sizes_new = counts.sum(axis=1), counts.sum(axis=0)
    from_where = np.arange(len(counts)) @ counts / np.maximum(sizes_new, 1)
    from_where[-1] = np.inf  # the items in no branch stand last
    left = np.flatnonzero(sizes_old)
    right = np.array([k for k in np.argsort(from_where, kind="stable") if sizes_new[k]])
    height = float(max(_HEIGHT, max(len(left), len(right)) * (_LEAST + _GAP) + 0.35 * _HEIGHT))
    colors = [branch_color(place) for place in range(len(counts) - 1)] + [_REST]
    # A new branch has the colour of the old one it is mostly made of.
    inherited = [colors[k] for k in counts[:, :-1].argmax(axis=0)] + [_REST]
    old_bars = _stack(left, sizes_old, old, colors, height)
    new_bars = _stack(right, sizes_new, new, inherited, height)
    return DrawnFlow(old_bars, new_bars, _ribbons(counts, old_bars, new_bars), height)


def _stack(
    order: Ints, sizes: Ints, labels: Sequence[Label], colors: Sequence[str], height: float
) -> tuple[Bar, ...]:
    """Stack bars from top to bottom: each its least height, the remainder by size."""
    free = height - len(order) * _LEAST - (len(order) - 1) * _GAP
    tall = _LEAST + free * sizes[order] / sizes[order].sum()
    tops = np.cumsum(tall + _GAP) - tall - _GAP
    placed = zip(order.tolist(), tops.tolist(), tall.tolist(), strict=True)
    return tuple(Bar(k, labels[k], top, own, colors[k]) for k, top, own in placed)


def _ribbons(counts: Ints, old: Sequence[Bar], new: Sequence[Bar]) -> tuple[Ribbon, ...]:
    shown = counts[np.ix_([bar.place for bar in old], [bar.place for bar in new])]
    leaving, arriving = _edges(old, shown), _edges(new, shown.T)
    return tuple(
        Ribbon(_path(*leaving[i, j : j + 2], *arriving[j, i : i + 2]), old[i], new[j], int(count))
        for (i, j), count in np.ndenumerate(shown)
        # Ribbons too thin to see would only be a haze.
        if count >= _THIN * counts.sum()
    )


def _edges(bars: Sequence[Bar], counts: Ints) -> NDArray[np.float64]:
    """Return where the ribbons of each bar begin and end, one below the other."""
    upto = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)
    tops, heights = np.array([(bar.top, bar.height) for bar in bars]).T[:, :, None]
    return np.asarray(tops + heights * upto / upto[:, -1:])


def _path(top: float, bottom: float, new_top: float, new_bottom: float) -> str:
    middle = WIDTH / 2
    return (
        f"M0 {top:.1f}C{middle} {top:.1f} {middle} {new_top:.1f} {WIDTH} {new_top:.1f}"
        f"V{new_bottom:.1f}C{middle} {new_bottom:.1f} {middle} {bottom:.1f} 0 {bottom:.1f}Z"
    )

"""Names beside points: each at the side where it covers the least."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

Floats = NDArray[np.floating]

# Where a name may stand: to which side of its point, and how many points away.
_SIDES = np.array([(x, y) for x in (1, -1, 0, 0.5, -0.5) for y in (1, -1, 0, 0.5, -0.5)])
_SIDES = _SIDES[np.abs(_SIDES).max(axis=1) == 1]
_FAR = (4.0, 10.0, 18.0, 28.0, 40.0, 54.0, 70.0, 90.0)
# From here on a line leads from the name to its point.
_LED = 9.0
# Half a marker, in points: a name keeps clear of the points it does not belong to.
_MARKER = 4.0
# A line is kept as dots: how many, and half of how wide each is in points.
_DOTS = 12
_DOT = 1.5
# Covering a square pixel of anything is so much worse than a line that is a pixel longer.
_COVERING = 10.0
# A name outside the frame is worse than one across several others.
_OUTSIDE = 1e6
# How often each name is placed again once all others stand.
_SWEEPS = 3


def place_labels(axis: Axes, xy: Floats, names: Sequence[str]) -> None:
    """Write ``names`` beside the points ``xy``, each at the nearest place that is free.

    A few greedy passes over sixteen sides and eight distances, enough for a few dozen names. A name
    that is far off, or nearer to a point that is not its own, gets a line to its point, which keeps
    clear of names, points and other lines. Where no place is free the one that covers the least is
    taken, inside the frame. The layout must be final: call it when all else is drawn.
    """
    figure = axis.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    points = axis.transData.transform(xy)
    texts = [
        axis.annotate(
            name,
            (x, y),
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7,
            # A white halo keeps a name readable across points and other names.
            path_effects=[withStroke(linewidth=2, foreground="white")],
            # Else the name would move the layout its place is computed in.
            in_layout=False,
        )
        for name, (x, y) in zip(names, xy, strict=True)
    ]
    extents = np.array([text.get_window_extent().extents for text in texts]).reshape(-1, 4)
    sizes = extents[:, 2:] - extents[:, :2]
    frame = np.array(axis.bbox.extents)
    placed: dict[int, _Place] = {}
    for _ in range(_SWEEPS):
        for row, size in enumerate(sizes):
            placed.pop(row, None)
            placed[row] = _best_place(row, points, size, placed, frame, scale)
    for row, place in placed.items():
        texts[row].set_position(tuple((place.middle - points[row]) / scale))
        if place.led:
            axis.annotate(
                "",
                xy[row],
                xytext=tuple((place.end - points[row]) / scale),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": "#777777", "linewidth": 0.5},
                zorder=0.5,
                in_layout=False,
            )


@dataclass(frozen=True)
class _Place:
    """Where a name stands, in pixels; boxes are (left, bottom, right, top)."""

    middle: Floats
    box: Floats
    led: bool
    end: Floats
    dots: Floats

    @property
    def taken(self) -> Floats:
        return np.vstack([self.box, self.dots]) if self.led else self.box[None]


def _best_place(
    row: int,
    points: Floats,
    size: Floats,
    placed: dict[int, _Place],
    frame: Floats,
    scale: float,
) -> _Place:
    """Return the place of a name that covers and crosses the least; of equals the nearest."""
    point, others = points[row], np.delete(points, row, axis=0)
    far = np.repeat(_FAR, len(_SIDES))
    middles = point + np.tile(_SIDES, (len(_FAR), 1)) * (size / 2 + far[:, None] * scale)
    boxes = _boxes(middles, size)
    led = (far >= _LED) | (_gaps(boxes, others) < _gaps(boxes, point[None]))
    ends = np.clip(point, boxes[:, :2], boxes[:, 2:])
    markers = _boxes(others, np.full(2, 2 * _MARKER * scale))
    taken = np.vstack([markers, *(place.taken for place in placed.values())])
    length = led * np.linalg.norm(ends - point, axis=1)
    cost = _COVERING * _covered(boxes, taken) + length + _OUTSIDE * _outside(boxes, frame)
    along = np.linspace(0, 1, _DOTS)[:, None]
    best, best_dots, least = 0, boxes, np.inf
    # What a line crosses only adds to the cost: the cheapest so far may end the search.
    for each in np.argsort(cost, kind="stable"):
        if cost[each] >= least:
            break
        dots = _boxes(point + along * (ends[each] - point), np.full(2, 2 * _DOT * scale))
        # A long line has its dots farther apart, so each stands for more.
        crossed = length[each] * _covered(dots, taken).sum() / (_DOTS * _DOT * scale)
        if cost[each] + crossed < least:
            least = cost[each] + crossed
            best, best_dots = int(each), dots
    return _Place(middles[best], boxes[best], bool(led[best]), ends[best], best_dots)


def _boxes(middles: Floats, size: Floats) -> Floats:
    return np.concatenate([middles - size / 2, middles + size / 2], axis=-1)


def _gaps(boxes: Floats, points: Floats) -> Floats:
    """Return the distance from each box to the nearest of the points."""
    nearest = np.clip(points[None], boxes[:, None, :2], boxes[:, None, 2:])
    distances = np.linalg.norm(nearest - points[None], axis=2)
    return np.asarray(distances.min(axis=1, initial=np.inf))


def _covered(boxes: Floats, taken: Floats) -> Floats:
    """Return the area each box would cover of what is taken."""
    left, bottom, right, top = taken.T
    width = np.minimum(boxes[:, 2:3], right) - np.maximum(boxes[:, 0:1], left)
    height = np.minimum(boxes[:, 3:4], top) - np.maximum(boxes[:, 1:2], bottom)
    return np.asarray((np.clip(width, 0, None) * np.clip(height, 0, None)).sum(axis=1))


def _outside(boxes: Floats, frame: Floats) -> NDArray[np.bool_]:
    return np.asarray(((boxes[:, :2] < frame[:2]) | (boxes[:, 2:] > frame[2:])).any(axis=1))

"""Names beside points: each at the side where it covers the least."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

Floats = NDArray[np.floating]

# Where a name may stand: to which side of its point, and how many points from its centre.
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
_FAR = (4.0, 10.0, 18.0, 28.0, 40.0)
# From here on a line leads from the name to its point.
_LED = 9.0
# Half a marker, in points: a name keeps clear of the points it does not belong to.
_MARKER = 4.0
# A name outside the frame is worse than one across several others.
_OUTSIDE = 1e6


def place_labels(axis: Axes, xy: Floats, names: Sequence[str]) -> None:
    """Write ``names`` beside the points ``xy``, each at the nearest place that is free.

    One greedy pass over eight sides and five distances, enough for a few dozen names. Where no
    place is free the one that covers the least is taken, inside the frame. The layout must be
    final: call it when all else is drawn.
    """
    figure = axis.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    points = axis.transData.transform(xy)
    # Boxes are (left, bottom, right, top) in pixels.
    taken = np.concatenate([points - _MARKER * scale, points + _MARKER * scale], axis=1)
    frame = np.array(axis.bbox.extents)
    for row, name in enumerate(names):
        text = axis.annotate(
            name,
            xy[row],
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7,
            # A white halo keeps a name readable across points and other names.
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
        # Else the name would move the layout its place was computed in.
        text.set_in_layout(False)
        box = np.asarray(text.get_window_extent().extents)
        size = box[2:] - box[:2]
        middles, far = _places(points[row], size, scale)
        boxes = np.concatenate([middles - size / 2, middles + size / 2], axis=1)
        best = int(np.argmin(_covered(boxes, np.delete(taken, row, axis=0), frame)))
        text.set_position(tuple((middles[best] - points[row]) / scale))
        if far[best] >= _LED:
            axis.annotate(
                "",
                xy[row],
                xytext=tuple((middles[best] - points[row]) / scale),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.5},
                zorder=0.5,
            ).set_in_layout(False)
        taken = np.vstack([taken, boxes[best]])


def _places(point: Floats, size: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the middles of the places a name of this size may take, the nearest first."""
    sides = np.tile(np.array(_SIDES, np.float64), (len(_FAR), 1))
    far = np.repeat(_FAR, len(_SIDES))
    return point + sides * (size / 2 + far[:, None] * scale), far


def _covered(boxes: Floats, taken: Floats, frame: Floats) -> Floats:
    """Return the area each box would cover of what is taken; far more outside the frame."""
    low = np.maximum(boxes[:, None, :2], taken[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], taken[None, :, 2:])
    area: Floats = np.prod(np.clip(high - low, 0, None), axis=2).sum(axis=1)
    outside = (boxes[:, :2] < frame[:2]).any(axis=1) | (boxes[:, 2:] > frame[2:]).any(axis=1)
    return area + _OUTSIDE * outside

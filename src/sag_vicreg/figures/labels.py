"""Names beside points: each at the side where it covers the least."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

# Offset in points from the marker's centre, and the text's own corner that stands there.
_SIDES = (
    ((4, 3), "left", "bottom"),
    ((4, -3), "left", "top"),
    ((-4, 3), "right", "bottom"),
    ((-4, -3), "right", "top"),
    ((0, 5), "center", "bottom"),
    ((0, -5), "center", "top"),
)
# Half a marker, in points: a name keeps clear of the points it does not belong to.
_MARKER = 4.0


def place_labels(axis: "Axes", xy: NDArray[np.floating], names: Sequence[str]) -> None:
    """Write ``names`` beside the points ``xy``, each at the first side that is free.

    One greedy pass over six sides, enough for a few dozen names. Where no side is free the one
    with the fewest collisions is taken. The layout must be final: call it when all else is drawn.
    """
    from matplotlib.patheffects import withStroke

    figure = axis.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    pixels = axis.transData.transform(xy)
    half = _MARKER * figure.dpi / 72
    # Boxes are (left, bottom, right, top) in pixels.
    taken = np.concatenate([pixels - half, pixels + half], axis=1)
    frame = np.array(axis.bbox.extents)
    for row, name in enumerate(names):
        text = axis.annotate(
            name,
            xy[row],
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=7,
            # A white halo keeps a name readable across points and other names.
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
        # Else the name would move the layout its place was computed in.
        text.set_in_layout(False)
        costs, boxes = zip(*(_try(text, side, taken, frame, row) for side in _SIDES), strict=True)
        best = int(np.argmin(costs))
        _move(text, _SIDES[best])
        taken = np.vstack([taken, boxes[best]])


def _move(text: "Annotation", side: tuple[tuple[int, int], str, str]) -> None:
    offset, horizontal, vertical = side
    text.set_position(offset)
    text.set(horizontalalignment=horizontal, verticalalignment=vertical)


def _try(
    text: "Annotation",
    side: tuple[tuple[int, int], str, str],
    taken: NDArray[np.floating],
    frame: NDArray[np.floating],
    own: int,
) -> tuple[int, NDArray[np.floating]]:
    """Count what the name would cover at this side, and give the box it would fill."""
    _move(text, side)
    box = np.asarray(text.get_window_extent().extents)
    others = np.delete(taken, own, axis=0)
    overlaps = (others[:, :2] < box[2:]).all(axis=1) & (others[:, 2:] > box[:2]).all(axis=1)
    outside = bool((box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any())
    return int(overlaps.sum()) + outside, box

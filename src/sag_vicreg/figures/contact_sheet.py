"""Contact sheets: rows of small images, one row per class, groups of columns side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import new_figure, save_figure, show_image

Images = NDArray[np.uint8]

# Inches of a cell, and the part of it that is margin.
_CELL = 0.62
_GAP = 0.08


def draw_contact_sheet(
    rows: Sequence[str],
    groups: Mapping[str, Sequence[Sequence[Images]]],
    path: Path | str,
    *,
    title: str | None = None,
) -> None:
    """Draw images in rows.

    Parameters
    ----------
    rows
        A label for every row.
    groups
        Under each heading, for every row, its images, uint8 (height, width, 3) of any size.
        Smaller images of a group are drawn smaller.
    path
        Where to write, as PNG, SVG or PDF.
    """
    widths = [max(len(images) for images in group) for group in groups.values()]
    breadth = _CELL * sum(widths) + 0.3 * len(widths) + 0.065 * max(len(row) for row in rows)
    with new_figure(breadth, _CELL * len(rows) + 0.6) as figure:
        axes = figure.subplots(1, len(groups), width_ratios=widths, squeeze=False)
        for axis, (heading, group), width in zip(axes[0], groups.items(), widths, strict=True):
            # One picture for the whole group: a figure of hundreds of axes takes minutes.
            show_image(axis, _mosaic(group, width), title=heading)
        cell = _mosaic(next(iter(groups.values())), widths[0]).shape[0] / len(rows)
        axes[0, 0].set_yticks([(row + 0.5) * cell for row in range(len(rows))], rows)
        axes[0, 0].tick_params(length=0)
        if title:
            figure.suptitle(title)
        save_figure(figure, path)


def _mosaic(group: Sequence[Sequence[Images]], width: int) -> Images:
    """All images of a group on white, each centred in its cell."""
    largest = max(max(image.shape[:2]) for images in group for image in images)
    # Cells of at least 64 px, so that pixels stay square after the figure is scaled.
    zoom = max(1, -(-64 // largest))
    cell = largest * zoom + 2 * round(_GAP / 2 * largest * zoom)
    canvas = np.full((cell * len(group), cell * width, 3), 255, dtype=np.uint8)
    for row, images in enumerate(group):
        for column, image in enumerate(images):
            drawn = image.repeat(zoom, axis=0).repeat(zoom, axis=1)
            height, breadth = drawn.shape[:2]
            top = row * cell + (cell - height) // 2
            left = column * cell + (cell - breadth) // 2
            canvas[top : top + height, left : left + breadth] = drawn
    return canvas

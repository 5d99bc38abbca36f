"""Figure 2: a query image and its nearest images under each model, cosines shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import PALETTE, caption, figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Ranked:
    """Images under one model, nearest first: pixels, class names, cosines to the query."""

    model: str
    images: Sequence[Image]
    classes: Sequence[str]
    cosines: Sequence[float]


def _show(axis: "Axes", image: Image, text: str, *, frame: str | None = None) -> None:
    axis.imshow(image, interpolation="nearest")
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel(text, fontsize=8)
    for spine in axis.spines.values():
        spine.set(visible=frame is not None, linewidth=3)
        if frame is not None:
            spine.set_edgecolor(frame)


def draw_query(query: Image, name: str, rows: Sequence[Ranked]) -> "Figure":
    """Draw the query at the left and a row of ranked images a model.

    A neighbour of the query's own class has a blue frame, any other an orange one and a cross
    before its name, so that the figure also reads in grey.
    """
    from matplotlib.figure import Figure

    width = max(len(row.images) for row in rows)
    with figure_style():
        figure = Figure(figsize=(1.25 * (width + 1.4), 1.95 * len(rows)))
        grid = figure.add_gridspec(len(rows), width + 1, width_ratios=[1.3] + [1.0] * width)
        _show(figure.add_subplot(grid[:, 0]), query, f"query: {caption(name)}")
        for line, row in enumerate(rows):
            for rank, image in enumerate(row.images):
                same = row.classes[rank] == name
                axis = figure.add_subplot(grid[line, rank + 1])
                mark = "" if same else "✗ "
                text = f"{row.cosines[rank]:.2f}\n{caption(mark + row.classes[rank])}"
                _show(axis, image, text, frame=PALETTE[0] if same else PALETTE[1])
                if rank == 0:
                    axis.set_title(row.model, loc="left")
    return figure

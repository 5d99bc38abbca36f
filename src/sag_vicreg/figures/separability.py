"""Figure 5: points above, their dendrograms below, one column a view of the same samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import MARKERS, PALETTE, figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_separability(
    points: Sequence[NDArray[np.float64]],
    linkages: Sequence[NDArray[np.float64]],
    labels: NDArray[np.int64],
    *,
    titles: Sequence[str],
) -> "Figure":
    """Draw numbered samples, class by colour and marker, over the tree of each view.

    Parameters
    ----------
    points
        One (n, 2) array a column.
    linkages
        SciPy linkage of each, (n - 1, 4).
    labels
        (n,) class of each sample.
    titles
        One a column; scores go here.
    """
    from matplotlib.figure import Figure
    from scipy.cluster.hierarchy import dendrogram

    with figure_style():
        figure = Figure(figsize=(3.3 * len(points), 5.4))
        axes = figure.subplots(2, len(points), squeeze=False, height_ratios=[1.25, 1])
        for column, (xy, linkage, title) in enumerate(zip(points, linkages, titles, strict=True)):
            above, below = axes[0, column], axes[1, column]
            for label in np.unique(labels):
                rows = labels == label
                above.scatter(
                    *xy[rows].T,
                    s=190,
                    color=PALETTE[label],
                    marker=MARKERS[label],
                    label=f"class {label + 1}",
                )
            for sample, (x, y) in enumerate(xy):
                above.text(x, y, str(sample), ha="center", va="center", color="white", fontsize=8)
            above.set(title=title, xticks=[], yticks=[])
            above.margins(0.12)
            dendrogram(linkage, ax=below, color_threshold=0, above_threshold_color="#444444")
            for tick in below.get_xticklabels():
                tick.set(color=PALETTE[labels[int(tick.get_text())]], fontsize=9, weight="bold")
            below.set(yticks=[], ylabel="merge height" if column == 0 else "")
            below.spines["bottom"].set_visible(False)
        axes[0, 0].legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=2, markerscale=0.6)
    return figure

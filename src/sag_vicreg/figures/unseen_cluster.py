"""Figure 1: clusters seen in training and a new one, as points and as spectral embeddings."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import MARKERS, figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The paper's green, purple and orange for the trained clusters and blue for the new one, in the
# shades of the palette that stay apart under colour-vision deficiencies.
_COLORS = ("#009E73", "#CC79A7", "#E69F00", "#0072B2")
_NEW = 3


def draw_unseen_cluster(
    *,
    train_points: NDArray[np.float64],
    train_clusters: NDArray[np.int64],
    test_points: NDArray[np.float64],
    test_clusters: NDArray[np.int64],
    train_embedding: NDArray[np.float64],
    test_embedding: NDArray[np.float64],
) -> "Figure":
    """Draw four panels: train points, test points, and the embedding of each.

    Points and embeddings are ``(n, 2)``; clusters are numbered 0, 1, 2, and 3 for the one that
    only the test points have. The two panels of points share their axes, and so do the two of
    embeddings, so that what moves has moved.
    """
    from matplotlib.figure import Figure

    with figure_style():
        figure = Figure(figsize=(10.5, 2.9))
        panels = figure.subplots(1, 4)
        panels[1].sharex(panels[0])
        panels[1].sharey(panels[0])
        panels[3].sharex(panels[2])
        panels[3].sharey(panels[2])
        _scatter(panels[0], train_points, train_clusters, "(a) train points")
        _scatter(panels[1], test_points, test_clusters, "(b) test points")
        _scatter(panels[2], train_embedding, train_clusters, "(c) train points' embedding")
        _scatter(panels[3], test_embedding, test_clusters, "(d) test points' embedding")
        for panel in panels[2:]:
            panel.set_xlabel("second eigenvector")
            panel.set_ylabel("third eigenvector")
        handles, labels = panels[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _scatter(
    panel: "Axes", points: NDArray[np.float64], clusters: NDArray[np.int64], title: str
) -> None:
    for cluster in np.unique(clusters):
        rows = clusters == cluster
        panel.scatter(
            points[rows, 0],
            points[rows, 1],
            s=11,
            c=_COLORS[cluster],
            marker=MARKERS[cluster],
            alpha=0.7,
            linewidths=0,
            label="new cluster" if cluster == _NEW else f"cluster {cluster + 1}",
        )
    panel.set_title(title)
    # Boxes of one shape, so that the four panels stand on one line.
    panel.set_box_aspect(0.85)

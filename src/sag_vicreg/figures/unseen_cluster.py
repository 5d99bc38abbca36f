"""Figure 1: clusters seen in training and a new one, as points and as spectral embeddings."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.figures.data import FigureData
from sag_vicreg.figures.style import MARKERS, new_figure

# The paper's green, purple and orange for the trained clusters and blue for the new one, in the
# shades of the palette that stay apart under colour-vision deficiencies.
_COLORS = ("#009E73", "#CC79A7", "#E69F00", "#0072B2")
_NEW = 3


@dataclass(frozen=True)
class UnseenCluster(FigureData):
    """Points in the plane, cluster numbers (3 is the unseen one) and embeddings.

    The constant eigenvector is left out of the embeddings: they are the second and third.
    """

    train_points: Annotated[NDArray[np.float64], "f", "train 2"]
    train_clusters: Annotated[NDArray[np.int64], "i", "train"]
    test_points: Annotated[NDArray[np.float64], "f", "test 2"]
    test_clusters: Annotated[NDArray[np.int64], "i", "test"]
    train_embedding: Annotated[NDArray[np.floating], "f", "train 2"]
    test_embedding: Annotated[NDArray[np.floating], "f", "test 2"]

    def draw(self) -> Figure:
        """Draw four panels: train points, test points, and the embedding of each.

        The two panels of points share their axes, and so do the two of embeddings, so that what
        moves has moved.
        """
        with new_figure(10.5, 2.9) as figure:
            panels = figure.subplots(1, 4)
            for panel, same in ((1, 0), (3, 2)):
                panels[panel].sharex(panels[same])
                panels[panel].sharey(panels[same])
            shown = (
                (self.train_points, self.train_clusters, "(a) train points"),
                (self.test_points, self.test_clusters, "(b) test points"),
                (self.train_embedding, self.train_clusters, "(c) train points' embedding"),
                (self.test_embedding, self.test_clusters, "(d) test points' embedding"),
            )
            for panel, (points, clusters, title) in zip(panels, shown, strict=True):
                _scatter(panel, points, clusters, title)
            for panel in panels[2:]:
                panel.set(xlabel="second eigenvector", ylabel="third eigenvector")
            handles, labels = panels[1].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        return figure


def _scatter(
    panel: Axes, points: NDArray[np.floating], clusters: NDArray[np.int64], title: str
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

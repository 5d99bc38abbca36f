"""Figure 5: linear separability is one thing, global structure another.

Four groups of points stand on a 2 x 2 grid and two classes sit on its diagonals, so no line splits
the classes. Embedding 1 pulls the classes apart and shuffles the groups inside each: perfectly
separable, structure gone. Embedding 2 turns and stretches the original a little: still not
separable, structure kept. A linear probe prefers the first, the trees the second.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram
from sklearn.linear_model import LogisticRegression

from sag_vicreg.figures.data import FigureData
from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure
from sag_vicreg.structure import compare, ward_tree

NAMES = ("original", "embedding 1", "embedding 2")


@dataclass(frozen=True)
class Separability(FigureData):
    """The original and its two embeddings: points, trees, and scores to the original.

    ``labels`` are the two classes; the original has no LCA or cophenetic similarity, so NaN.
    """

    labels: Annotated[NDArray[np.int64], "i", "n"]
    points: Annotated[NDArray[np.float64], "f", "3 n 2"]
    linkages: Annotated[NDArray[np.float64], "f", "3 merges 4"]
    linear_accuracy: Annotated[NDArray[np.float64], "f", "3"]
    lca_spearman: Annotated[NDArray[np.float64], "f", "3"]
    cophenetic: Annotated[NDArray[np.float64], "f", "3"]

    def draw(self) -> Figure:
        """Draw numbered samples, class by colour and marker, over the tree of each view."""
        with new_figure(9.9, 5.4) as figure:
            axes = figure.subplots(2, 3, height_ratios=[1.25, 1])
            for column, xy in enumerate(self.points):
                above, below = axes[:, column]
                for label in np.unique(self.labels):
                    above.scatter(
                        *xy[self.labels == label].T,
                        s=190,
                        color=PALETTE[label],
                        marker=MARKERS[label],
                        label=f"class {label + 1}",
                    )
                for sample, (x, y) in enumerate(xy):
                    above.text(x, y, str(sample), ha="center", va="center", color="white", size=8)
                above.set(title=self._title(column), xticks=[], yticks=[])
                above.margins(0.12)
                linkage = self.linkages[column]
                dendrogram(linkage, ax=below, color_threshold=0, above_threshold_color="#444444")
                for tick in below.get_xticklabels():
                    color = PALETTE[self.labels[int(tick.get_text())]]
                    tick.set(color=color, fontsize=9, weight="bold")
                below.set(yticks=[], ylabel="merge height" if column == 0 else "")
                below.spines["bottom"].set_visible(False)
            axes[0, 0].legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=2, markerscale=0.6)
        return figure

    def _title(self, view: int) -> str:
        title = f"{NAMES[view]}\nlinear accuracy {self.linear_accuracy[view]:.2f}"
        if np.isnan(self.lca_spearman[view]):
            return title
        return (
            f"{title}\nLCA Spearman {self.lca_spearman[view]:.2f}, "
            f"cophenetic {self.cophenetic[view]:.2f}"
        )


def separability(*, per_group: int = 3, seed: int = 0) -> Separability:
    """Make the points, embed them both ways, and score both embeddings against the original."""
    rng = np.random.default_rng(seed)
    corners = np.array([[0.0, 0.0], [4.0, 0.6], [0.5, 3.2], [4.4, 3.9]])
    groups = np.repeat(np.arange(4), per_group)
    labels = np.array([0, 1, 1, 0])[groups]
    original = corners[groups] + rng.normal(scale=0.35, size=(groups.size, 2))

    scrambled = np.empty_like(original)
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        # Inside a class every second point of a group changes sides, so that no group survives.
        side = np.arange(rows.size) % 2
        scrambled[rows] = np.column_stack([np.full(rows.size, 3.0 * label), 2.5 * side])
    scrambled += rng.normal(scale=0.3, size=original.shape)

    angle = 0.5
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    kept = original @ turn * [1.2, 0.9] + rng.normal(scale=0.12, size=original.shape)

    views = (original, scrambled, kept)
    similar = [compare(original, view, geometry="euclidean") for view in views[1:]]
    return Separability(
        labels,
        np.stack(views),
        np.stack([ward_tree(view, geometry="euclidean").linkage for view in views]),
        np.array([_linear_accuracy(view, labels) for view in views]),
        np.array([np.nan, *(s.lca.spearman for s in similar)]),
        np.array([np.nan, *(s.cophenetic.d1_to_p2 for s in similar)]),
    )


def _linear_accuracy(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Training accuracy of a hardly regularised linear classifier: 1.0 is linearly separable."""
    classifier = LogisticRegression(C=1e6, max_iter=10_000).fit(points, labels)
    return float(classifier.score(points, labels))

"""Figure 5: linear separability is one thing, global structure another.

Four groups of points stand on a 2 x 2 grid and two classes sit on its diagonals, so no line splits
the classes. Embedding 1 pulls the classes apart and shuffles the groups inside each: perfectly
separable, structure gone. Embedding 2 turns and stretches the original a little: still not
separable, structure kept. A linear probe prefers the first, the trees the second.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.structure import Scores, compare, ward_tree


@dataclass(frozen=True)
class View:
    """One panel: points, their tree, a linear classifier's accuracy, scores to the original."""

    name: str
    points: NDArray[np.float64]
    linkage: NDArray[np.float64]
    linear_accuracy: float
    similarity: Scores | None


@dataclass(frozen=True)
class Separability:
    """The original and its two embeddings; ``labels`` are the two classes."""

    labels: NDArray[np.int64]
    views: tuple[View, View, View]


def _linear_accuracy(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Training accuracy of a hardly regularised linear classifier: 1.0 is linearly separable."""
    from sklearn.linear_model import LogisticRegression

    classifier = LogisticRegression(C=1e6, max_iter=10_000).fit(points, labels)
    return float(classifier.score(points, labels))


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

    named = (("original", original), ("embedding 1", scrambled), ("embedding 2", kept))
    views = [
        View(
            name,
            points,
            ward_tree(points, geometry="euclidean").linkage,
            _linear_accuracy(points, labels),
            None if points is original else compare(original, points, geometry="euclidean"),
        )
        for name, points in named
    ]
    return Separability(labels, (views[0], views[1], views[2]))

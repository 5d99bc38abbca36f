"""The class trees of every model, and each two of them turned to face each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.centroids import class_centroids
from sag_vicreg.report.points import FloatArray, Points
from sag_vicreg.structure import (
    Branch,
    Movements,
    Tree,
    branches_of,
    untangle,
    ward_forest,
    ward_tree,
)
from sag_vicreg.structure.forest import FEWEST_ROWS

MOST_CLASSES = 300
MOST_ROWS = 48
EXAMPLES = 6
# Of more rows a sample tells the branches as well, in a fraction of the time.
_FOREST_ITEMS = 3_000


@dataclass(frozen=True)
class DrawnTree:
    """Merges in SciPy's numbering, their heights, and the leaves from top to bottom."""

    children: Sequence[Sequence[int]]
    heights: Sequence[float]
    order: Sequence[int]


@dataclass(frozen=True)
class TreePair:
    """Two models' trees with few crossings; ``right`` is None where there is one model."""

    left: int
    right: int | None
    left_tree: DrawnTree
    right_tree: DrawnTree | None


@dataclass(frozen=True)
class Trees:
    """Leaves are classes; where there are none, branches that recur, or single rows."""

    leaves: Sequence[str]
    classes: Sequence[int] | None
    examples: Sequence[Sequence[int]]
    """Rows of the page's points that show each leaf."""
    pairs: Sequence[TreePair]
    nouns: tuple[str, str]
    """What a leaf is, and what several are: a class, a branch, or one of the page's rows."""


def build_trees(
    points: Points,
    rows: NDArray[np.intp],
    changed: Movements | None,
    *,
    trees: int,
    seed: int,
) -> Trees | None:
    """Build the trees of all models and face each pair; None where there is no tree.

    Parameters
    ----------
    points
        The common images.
    rows
        The rows the page shows: examples are chosen among them and numbered by their place.
    changed
        What moved between the first two models, if that is known: it has the first one's branches.
    trees
        Of the forest that is asked for branches otherwise.
    seed
        Of that forest, and of the choice of leaves where there are too many to draw.
    """
    if points.labels is not None and len(points.classes) >= 3:
        return _of_classes(points, points.labels, rows, seed)
    branches = _recurring_branches(points, trees, seed) if changed is None else changed.flow.old
    if len(branches) >= 3:
        return _of_branches(points, rows, branches)
    chosen = _some(len(rows), MOST_ROWS, seed)
    return _trees(
        [vectors[rows[chosen]] for vectors in points.vectors],
        leaves=[points.describe(row) for row in rows[chosen]],
        classes=None,
        examples=[(place,) for place in chosen.tolist()],
        nouns=(points.noun, f"{points.noun}s"),
    )


def _some(total: int, most: int, seed: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(seed).choice(total, min(total, most), replace=False))


def _of_classes(
    points: Points, labels: NDArray[np.int64], rows: NDArray[np.intp], seed: int
) -> Trees | None:
    """Build the trees of the centroids of classes."""
    total = len(points.classes)
    chosen = _some(total, MOST_CLASSES, seed)
    return _trees(
        [class_centroids(vectors, labels, total)[chosen] for vectors in points.vectors],
        leaves=[points.classes[label] for label in chosen],
        classes=chosen.tolist(),
        examples=[examples_of(label, labels[rows]) for label in chosen],
        nouns=("class", "classes"),
    )


def _recurring_branches(points: Points, trees: int, seed: int) -> tuple[Branch, ...]:
    """Find the branches of the first model's trees; none of labelled rows or too few of them."""
    if trees == 0 or points.labels is not None or len(points) < FEWEST_ROWS:
        return ()
    try:
        return branches_of(
            ward_forest(points.vectors[0], trees=trees, items=_FOREST_ITEMS, seed=seed)
        )
    except InputError:
        # Constant or zero vectors: a notice says so.
        return ()


def _of_branches(
    points: Points, rows: NDArray[np.intp], branches: Sequence[Branch]
) -> Trees | None:
    """Build the trees of the centroids of branches, with how many rows each has, and examples."""
    shown = {int(row): place for place, row in enumerate(rows)}
    return _trees(
        [np.stack([v[each.rows].mean(axis=0) for each in branches]) for v in points.vectors],
        leaves=[f"{each.size:,} like {points.like(int(each.rows[0]))}" for each in branches],
        classes=None,
        examples=[
            [shown[row] for row in each.rows.tolist() if row in shown][:EXAMPLES]
            for each in branches
        ],
        nouns=("branch", "branches"),
    )


def _trees(matrices: Sequence[FloatArray], **described: Any) -> Trees | None:
    """Build a tree of each matrix and face every two; None where one has no tree."""
    try:
        return Trees(pairs=_face([ward_tree(matrix) for matrix in matrices]), **described)
    except InputError:
        # Constant or zero vectors: a notice says so.
        return None


def examples_of(label: int, labels: NDArray[np.int64]) -> list[int]:
    """Choose the first few rows of a class among those the page shows."""
    return [int(row) for row in np.flatnonzero(labels == label)[:EXAMPLES]]


def _face(trees: Sequence[Tree]) -> list[TreePair]:
    if len(trees) == 1:
        return [TreePair(0, None, _drawn(trees[0], trees[0].leaf_order), None)]
    pairs = []
    for left, right in combinations(range(len(trees)), 2):
        faced = untangle(trees[left], trees[right])
        drawn = _drawn(trees[left], faced.order_a), _drawn(trees[right], faced.order_b)
        pairs.append(TreePair(left, right, *drawn))
    return pairs


def _drawn(tree: Tree, order: NDArray[np.int64]) -> DrawnTree:
    heights = [round(height, 6) for height in tree.heights.tolist()]
    return DrawnTree(tree.children.tolist(), heights, order.tolist())

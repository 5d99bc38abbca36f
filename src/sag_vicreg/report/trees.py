"""The class trees of every model, and each two of them turned to face each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.centroids import class_centroids
from sag_vicreg.report.points import FloatArray, Points
from sag_vicreg.structure import Branch, Tree, branches_of, untangle, ward_forest, ward_tree
from sag_vicreg.structure.forest import FEWEST_ROWS

MOST_CLASSES = 300
MOST_IMAGES = 48
EXAMPLES = 6
# Of more rows a sample tells the branches as well, in a fraction of the time.
_FOREST_ITEMS = 3_000
PLURALS = {"class": "classes", "branch": "branches"}


@dataclass(frozen=True)
class DrawnTree:
    """Merges in SciPy's numbering, their heights, and the leaves from top to bottom."""

    children: NDArray[np.int64]
    heights: NDArray[np.float64]
    order: NDArray[np.int64]


@dataclass(frozen=True)
class TreePair:
    """Two models' trees with few crossings; ``right`` is None where there is one model."""

    left: int
    right: int | None
    left_tree: DrawnTree
    right_tree: DrawnTree | None


@dataclass(frozen=True)
class Trees:
    """Leaves are classes, or images where there are no classes."""

    leaves: tuple[str, ...]
    classes: NDArray[np.int64] | None
    examples: tuple[tuple[int, ...], ...]
    """Rows of the page's points that show each leaf."""
    pairs: tuple[TreePair, ...]
    shown_of: int
    """How many leaves there would be without a limit."""
    noun: str = "class"
    """What a leaf is: a class, a branch, or one of the page's rows."""


def build_trees(
    points: Points, rows: NDArray[np.intp], *, seed: int, branches: Sequence[Branch] = ()
) -> Trees | None:
    """Build the trees of all models and face each pair; None where there is no tree.

    Parameters
    ----------
    points
        The common images.
    rows
        The rows the page shows: examples are chosen among them and numbered by their place.
    seed
        Of the choice of leaves, where there are too many to draw.
    branches
        Branches that recur in a model's trees: the leaves where there are no labels.
    """
    generator = np.random.default_rng(seed)
    by_class = points.labels is not None and len(points.classes) >= 3
    if not by_class and len(branches) >= 3:
        return _of_branches(points, rows, branches)
    total = len(points.classes) if by_class else len(rows)
    most = MOST_CLASSES if by_class else MOST_IMAGES
    chosen = np.sort(generator.choice(total, size=min(total, most), replace=False))
    if len(chosen) < 3:
        return None
    matrices: list[FloatArray]
    if by_class:
        assert points.labels is not None
        n_classes = len(points.classes)
        matrices = [class_centroids(v, points.labels, n_classes)[chosen] for v in points.vectors]
        names = tuple(points.classes[c] for c in chosen)
        examples = [tuple(examples_of(c, points.labels[rows])) for c in chosen]
    else:
        matrices = [v[rows[chosen]] for v in points.vectors]
        ids = points.ids
        names = tuple(f"row {rows[c]}" if ids is None else ids[rows[c]] for c in chosen)
        examples = [(int(c),) for c in chosen]
    return _trees(
        matrices,
        leaves=names,
        classes=chosen.astype(np.int64) if by_class else None,
        examples=tuple(examples),
        shown_of=total,
        noun="class" if by_class else points.noun,
    )


def recurring_branches(points: Points, *, trees: int, seed: int) -> tuple[Branch, ...]:
    """Find the branches of the first model's trees; none where there are too few rows for it."""
    if trees == 0 or len(points) < FEWEST_ROWS:
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
    names = [f"{each.size:,} like {points.like(int(each.rows[0]))}" for each in branches]
    matrices = [np.stack([v[each.rows].mean(axis=0) for each in branches]) for v in points.vectors]
    examples = [
        tuple(shown[row] for row in each.rows.tolist() if row in shown)[:EXAMPLES]
        for each in branches
    ]
    return _trees(
        matrices,
        leaves=tuple(names),
        classes=None,
        examples=tuple(examples),
        shown_of=len(branches),
        noun="branch",
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


def _face(trees: Sequence[Tree]) -> tuple[TreePair, ...]:
    if len(trees) == 1:
        return (TreePair(0, None, _drawn(trees[0], trees[0].leaf_order), None),)
    pairs = []
    for right in range(len(trees)):
        for left in range(right):
            faced = untangle(trees[left], trees[right])
            left_tree = _drawn(trees[left], faced.order_a)
            right_tree = _drawn(trees[right], faced.order_b)
            pairs.append(TreePair(left, right, left_tree, right_tree))
    return tuple(pairs)


def _drawn(tree: Tree, order: NDArray[np.int64]) -> DrawnTree:
    return DrawnTree(tree.children, tree.heights, order)

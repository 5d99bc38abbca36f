"""Cophenetic similarity: how far the heights of one tree follow the distances in the other set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.errors import InputError
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.parallel import LONG, Workers, blocks
from sag_vicreg.structure.points import centred, near_one
from sag_vicreg.structure.tree import Tree

_ROWS = 128
# A relative variance that rounding alone can make of equal distances.
_EQUAL = 1e-13


@dataclass(frozen=True)
class CopheneticSimilarity:
    """Pearson correlations of one set's cophenetic distances with the other's pairwise ones.

    ``d1_to_p2`` takes the tree of the first set and the distances of the second; ``d2_to_p1`` the
    other way (paper, table 2).
    """

    d1_to_p2: float
    d2_to_p1: float


def cophenetic_similarity(tree_a: Tree, tree_b: Tree) -> CopheneticSimilarity:
    """Correlate each tree's cophenetic distances with the distances between the other's points.

    Both trees come from :func:`~sag_vicreg.structure.ward_tree` in one geometry; the pairwise
    distances are that geometry's (cosine, chord, Euclidean). All n(n - 1)/2 pairs enter.
    """
    if tree_a.n != tree_b.n:
        raise InputError(
            f"trees of {tree_a.n} and {tree_b.n} leaves: both must stand for the same items"
        )
    same = [np.arange(tree_a.n)]
    return CopheneticSimilarity(
        d1_to_p2=cophenetic_correlations(tree_a, tree_b, same)[0],
        d2_to_p1=cophenetic_correlations(tree_b, tree_a, same)[0],
    )


def cophenetic_correlations(tree: Tree, other: Tree, relabellings: Sequence[Ints]) -> list[float]:
    """Correlate the heights of ``tree`` with the distances of ``other``, under each relabelling.

    ``relabelling[i]`` is the row of ``other`` that stands for leaf ``i``. Only the cross term
    depends on it; the rest is computed once.
    """
    # Those that meet at each merge.
    pairs = tree.sizes[tree.children].prod(axis=1)
    weights, tree_variance = centred(tree.heights, pairs)
    # Distances do not see translation, and sums of centred points cancel least.
    points = near_one(other.known_points)
    points = points - points.mean(axis=0)
    cross, total, squares = (_of_half_squares if other.geometry == "cosine" else _of_distances)(
        tree, weights, points, relabellings
    )
    n = tree.n * (tree.n - 1) // 2
    variance = squares - total * total / n
    if tree_variance <= 0 or variance <= _EQUAL * squares:
        what = "cophenetic" if tree_variance <= 0 else "pairwise"
        raise InputError(f"all {what} distances are equal: the cophenetic similarity is undefined")
    return [value / math.sqrt(tree_variance * variance) for value in cross]


def _of_half_squares(
    tree: Tree, weights: Floats, points: Floats, relabellings: Sequence[Ints]
) -> tuple[list[float], float, float]:
    """Sum over cosine distances, which are half squares: ``1 - u.v = |u - v|**2 / 2``.

    A half square is bilinear in the two points, so sums over pairs are products of sums over
    points: O(n d) for the cross term where the pairs would take O(n^2 d).
    """
    kernels = kernel("cophenetic")
    halves = 0.5 * np.einsum("ij,ij->i", points, points)
    sums = np.empty(tree.n - 1)
    cross = []
    for rows in relabellings:
        kernels.half_square_sums(tree.children, tree.sizes, points[rows], halves[rows], sums)
        cross.append(float((weights * sums).sum()))
    n = len(points)
    total = n * float(halves.sum())
    # Over ordered pairs (h_i + h_j)^2 - 2 (h_i + h_j) x_i.x_j + (x_i.x_j)^2; the points sum to 0,
    # so the middle term vanishes, and the pairs (i, i) add nothing to the whole.
    with Workers():
        gram = points.T @ points if points.shape[1] <= n else points @ points.T
    squares = n * (halves**2).sum() + halves.sum() ** 2 + 0.5 * (gram**2).sum()
    return cross, total, float(squares)


def _of_distances(
    tree: Tree, weights: Floats, points: Floats, relabellings: Sequence[Ints]
) -> tuple[list[float], float, float]:
    """Sum over Euclidean distances, streamed through blocks of rows."""
    kernels = kernel("cophenetic")
    norms = np.einsum("ij,ij->i", points, points)
    splits = weights[tree.boundaries]
    orders = [(np.argsort(rows[tree.leaf_order]), rows[tree.leaf_order]) for rows in relabellings]

    def add(part: slice) -> tuple[list[float], float, float]:
        block = points[part] @ points.T
        sums = np.empty((len(block), 2))
        kernels.distances(block, norms, part.start, sums)
        cross = [kernels.cross_sum(block, part.start, *order, splits) for order in orders]
        return cross, *sums.sum(axis=0).tolist()

    with Workers() as workers:
        parts = workers.map(
            add, blocks(len(points), _ROWS), bar="cophenetic" if len(points) > LONG else None
        )
    cross = np.sum([part[0] for part in parts], axis=0).tolist()
    # Every pair was seen from both sides.
    return cross, sum(part[1] for part in parts) / 2, sum(part[2] for part in parts) / 2

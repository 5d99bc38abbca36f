"""Companions to the metric: what else is in use for comparing two sets, on the same points."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.errors import InputError
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.nearest import SquaredDistances, is_among, nearest_items
from sag_vicreg.structure.parallel import LONG, Workers, blocks
from sag_vicreg.structure.points import near_one
from sag_vicreg.structure.tanglegram import untangle
from sag_vicreg.structure.tree import Tree

RSA_ROWS = 20_000
_ROWS = 128
_CUTS = (2, 3, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True)
class Neighborhood:
    """Agreement at the two ends of the scale: nearest items, and the largest directions.

    Attributes
    ----------
    shared
        Mean share of each item's ``neighbors`` nearest items that both sets agree on; None above
        20,000 rows.
    cka
        Linear centred kernel alignment of the points (Kornblith et al., 2019).
    """

    shared: float | None
    neighbors: int
    cka: float


def neighborhood(tree_a: Tree, tree_b: Tree, *, neighbors: int = 10) -> Neighborhood:
    """Compare the points of two trees built by :func:`~sag_vicreg.structure.ward_tree`."""
    a, b = tree_a.known_points, tree_b.known_points
    neighbors = min(neighbors, tree_a.n - 1)
    shared = mutual_neighbors(a, b, k=neighbors) if tree_a.n <= RSA_ROWS else None
    return Neighborhood(shared, neighbors, linear_cka(a, b))


@dataclass(frozen=True)
class Context:
    """Other measures of agreement between two sets.

    Attributes
    ----------
    rsa
        Spearman correlation of the pairwise distances (Kriegeskorte et al., 2008); None above
        20,000 rows, where ranking all pairs takes more memory than it is worth.
    entanglement
        Of the untangled trees, 0 for parallel lines.
    fowlkes_mallows
        Agreement of both trees cut into k clusters, for some k (Fowlkes and Mallows, 1983).
    fowlkes_mallows_by_chance
        Its expectation for unrelated trees with clusters of these sizes.
    """

    rsa: float | None
    entanglement: float
    fowlkes_mallows: dict[int, float]
    fowlkes_mallows_by_chance: dict[int, float]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary."""
        return asdict(self)


def context(tree_a: Tree, tree_b: Tree) -> Context:
    """Compute all companions for two trees built by :func:`~sag_vicreg.structure.ward_tree`."""
    a, b = tree_a.known_points, tree_b.known_points
    agreement = {k: fowlkes_mallows(tree_a, tree_b, k) for k in _CUTS if k < tree_a.n}
    return Context(
        rsa=rsa(a, b) if tree_a.n <= RSA_ROWS else None,
        entanglement=untangle(tree_a, tree_b).entanglement,
        fowlkes_mallows={k: found for k, (found, _) in agreement.items()},
        fowlkes_mallows_by_chance={k: chance for k, (_, chance) in agreement.items()},
    )


def linear_cka(a: Floats, b: Floats) -> float:
    """Align the centred Gram matrices of two sets; never forms them where d < n."""
    a, b = near_one(a), near_one(b)
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    if max(a.shape[1], b.shape[1]) > len(a):
        gram_a, gram_b = a @ a.T, b @ b.T
        return float((gram_a * gram_b).sum() / (np.linalg.norm(gram_a) * np.linalg.norm(gram_b)))
    shared = np.linalg.norm(a.T @ b) ** 2
    return float(shared / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)))


def rsa(a: Floats, b: Floats) -> float:
    """Correlate the ranks of all pairwise distances of two sets.

    Distances that differ by no more than rounding share a rank.
    """
    n = len(a)
    if n > RSA_ROWS:
        raise InputError(
            f"RSA ranks all {n * (n - 1) // 2:,} pairs of {n:,} rows: "
            f"give at most {RSA_ROWS:,} rows, or use the tree similarities, which need no ranks"
        )
    with Workers() as workers:
        one, other = (_centred_ranks(points, workers) for points in (a, b))
        return float((one @ other) / np.sqrt((one @ one) * (other @ other)))


def _centred_ranks(points: Floats, workers: Workers) -> Floats:
    """Rank the distances of all pairs, each item's to those before it, about a mean of 0."""
    n, distances = len(points), SquaredDistances(points)
    grain = 2.0**-46 * distances.norms.max()
    ranks = np.empty(n * (n - 1) // 2)

    def fill(rows: slice) -> None:
        squared = np.rint(distances.rows(rows) / grain)
        for row, line in enumerate(squared, start=rows.start):
            start = row * (row - 1) // 2
            ranks[start : start + row] = line[:row]

    workers.map(fill, blocks(n, _ROWS), bar="distances" if n > LONG else None)
    kernel("ranks").rank_in_place(ranks, np.argsort(ranks))
    ranks -= ranks.mean()
    return ranks


def mutual_neighbors(a: Floats, b: Floats, *, k: int = 10) -> float:
    """Average the share of each item's k nearest items that both sets name."""
    return float(is_among(nearest_items(a, k), nearest_items(b, k)).mean())


def cut(tree: Tree, k: int) -> Ints:
    """Cut ``tree`` into ``k`` clusters; return each leaf's, numbered from left to right."""
    splits = tree.boundaries >= tree.n - k
    return np.concatenate([[0], np.cumsum(splits)])[tree.starts[: tree.n]]


def fowlkes_mallows(tree_a: Tree, tree_b: Tree, k: int) -> tuple[float, float]:
    """Compare both trees cut into ``k`` clusters: Bk, and its expectation by chance."""
    n = tree_a.n
    a, b = cut(tree_a, k), cut(tree_b, k)
    together = _pairs(np.unique(a * k + b, return_counts=True)[1])
    pairs_a, pairs_b = _pairs(np.bincount(a)), _pairs(np.bincount(b))
    norm = np.sqrt(pairs_a) * np.sqrt(pairs_b)
    if norm == 0:
        return 0.0, 0.0
    return float(together / norm), float(norm / (n * (n - 1) // 2))


def _pairs(sizes: Ints) -> float:
    return float((sizes * (sizes - 1)).sum() / 2)

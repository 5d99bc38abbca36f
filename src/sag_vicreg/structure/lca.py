"""LCA similarity: whether two trees agree on which pairs meet low and which meet high."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sag_vicreg.arrays import Array, Ints
from sag_vicreg.errors import InputError
from sag_vicreg.structure.joint import JointTable, check_lca, joint_table
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.points import centred
from sag_vicreg.structure.tree import Tree


@dataclass(frozen=True)
class LCASimilarity:
    """Correlations of the LCA distances of all pairs in two trees."""

    pearson: float
    spearman: float
    kendall: float


def lca_similarity(tree_a: Tree, tree_b: Tree, *, lca: str = "level") -> LCASimilarity:
    """Correlate the LCA distances of all n(n - 1)/2 pairs of leaves in two trees, exactly.

    Parameters
    ----------
    tree_a, tree_b
        Two trees over the same items: leaf i of one is leaf i of the other.
    lca
        The distance of a pair to its lowest common ancestor: ``"level"``, the longest chain of
        merges from it down to a leaf; ``"path"``, edges from leaf to leaf through it; ``"order"``,
        its rank among the merges, the highest of those at one height (the Spearman correlation is
        then Baker's gamma); ``"height"``, the height at which it merges.

    Returns
    -------
    LCASimilarity
        Pearson's r, Spearman's rho with mid-ranks and Kendall's tau-b.
    """
    check_lca(lca)
    if tree_a.n != tree_b.n:
        raise InputError(
            f"trees of {tree_a.n} and {tree_b.n} leaves: both must stand for the same items"
        )
    return similarity_of(joint_table(tree_a, tree_b, lca))


def similarity_of(table: JointTable) -> LCASimilarity:
    """Take all three correlations from the joint table."""
    marginals = _marginals(table)
    # Twice the mean rank of each value's pairs, a whole number.
    ranks = [2 * np.cumsum(counts) - counts + 1 for counts in marginals]
    whole = table.values_a.dtype.kind == "i"
    return LCASimilarity(
        pearson=(_whole_pearson if whole else _real_pearson)(
            table, [table.values_a, table.values_b], marginals
        ),
        spearman=_whole_pearson(table, ranks, marginals),
        kendall=kendall(table),
    )


def _marginals(table: JointTable) -> list[Ints]:
    """Count the pairs of each value; tables of 150 million rows have more than floats can count."""
    marginals = [np.zeros(len(values), np.int64) for values in (table.values_a, table.values_b)]
    for side, marginal in enumerate(marginals):
        np.add.at(marginal, table.cells[:, side], table.counts)
    return marginals


def _whole_pearson(table: JointTable, values: Sequence[Array], marginals: Sequence[Ints]) -> float:
    """Pearson's r of whole numbers; nothing is rounded before the last division."""
    totals = np.zeros((len(values[0]), 2), np.uint64)
    kernel("ranks").row_sums(table.cells, table.counts, values[1], totals)
    # Python's own numbers have no largest.
    a, b, n_a, n_b, low, high = (x.astype(object) for x in (*values, *marginals, *totals.T))
    n, sum_a, sum_b = n_a.sum(), a @ n_a, b @ n_b
    together = n * (a @ ((high << 64) + low)) - sum_a * sum_b
    return _ratio(together, n * (a * a @ n_a) - sum_a**2, n * (b * b @ n_b) - sum_b**2)


def _real_pearson(table: JointTable, values: Sequence[Array], marginals: Sequence[Ints]) -> float:
    (a, variance_a), (b, variance_b) = map(centred, values, marginals)
    _check_variance(variance_a, variance_b)
    products = a[table.cells[:, 0]] * b[table.cells[:, 1]] * table.counts
    return float(products.sum()) / math.sqrt(variance_a * variance_b)


def kendall(table: JointTable) -> float:
    """Kendall's tau-b over pairs of pairs, in whole numbers."""
    counts_a, counts_b = _marginals(table)
    starts = np.searchsorted(table.cells[:, 0], np.arange(len(counts_a) + 1))
    totals = np.zeros((2, 2), np.uint64)
    kernel("ranks").concordance(table.cells, table.counts, starts, len(counts_b), totals)
    concordant, squares = ((high << 64) + low for low, high in totals.tolist())
    n = int(counts_a.sum())
    pairs = n * (n - 1) // 2
    tied_a, tied_b = (sum(c * (c - 1) // 2 for c in side.tolist()) for side in (counts_a, counts_b))
    tied_both = (squares - n) // 2
    discordant = pairs - tied_a - tied_b + tied_both - concordant
    return _ratio(concordant - discordant, pairs - tied_a, pairs - tied_b)


def _ratio(together: int, variance_a: int, variance_b: int) -> float:
    """Divide as every correlation does, rounding once."""
    _check_variance(variance_a, variance_b)
    root = math.isqrt((variance_a * variance_b) << 128)
    return (together << 64) / root


def _check_variance(variance_a: float, variance_b: float) -> None:
    if variance_a <= 0 or variance_b <= 0:
        side = "first" if variance_a <= 0 else "second"
        raise InputError(
            f"all pairs have the same LCA distance in the {side} tree: the correlation is undefined"
        )

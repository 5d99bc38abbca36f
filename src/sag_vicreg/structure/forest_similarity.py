"""Forest similarity: whether two sets put the same items together, tree after tree.

For each pair of items, average over the trees of random halves how small a cluster holds both;
correlate the averages of two sets. Correlating two such matrices is a representational similarity
analysis (Kriegeskorte et al., 2008) with the Mantel statistic, and dividing by how well the trees
of each set repeat themselves is its noise ceiling; new is the combination for trees.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats, Ints, Ints32
from sag_vicreg.errors import InputError
from sag_vicreg.scores import FOREST, without_nan
from sag_vicreg.structure.forest import Forest
from sag_vicreg.structure.forest_tables import (
    PLAIN,
    WITHIN_A,
    WITHIN_B,
    Bins,
    PairAverages,
    PairTables,
    corrected,
    tabulate,
)
from sag_vicreg.structure.forest_uncertainty import item_interval, permutation_p_value, tree_error
from sag_vicreg.structure.joint import JointTable
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.lca import LCASimilarity, kendall

# Shares of all pairs, the closest first, at which the agreement is reported.
_SHARES = (0.001, 0.01, 0.1, 0.5)


@dataclass(frozen=True)
class ScaleSimilarity:
    """Agreement on which pairs are the closest.

    Attributes
    ----------
    share
        Which share of all pairs counts as close.
    size
        Typical leaves, of a tree's m, of the cluster at which that share ends in the first set;
        None where the distance is not ``"size"``.
    similarity
        Corrected like the whole score: 1 where both sets have the same close pairs, 0 by chance.
    """

    share: float
    size: float | None
    similarity: float


@dataclass(frozen=True)
class ForestScores:
    """What the pairs of two forests say, as :class:`ForestSimilarity` explains it."""

    spearman: float
    pearson: float
    reliability: tuple[float, float]
    by_scale: tuple[ScaleSimilarity, ...]


@dataclass(frozen=True)
class CorrectedSimilarity(ForestScores):
    """The same, how sure ``spearman`` is, and which forests it is of: of sets or of tables."""

    interval: tuple[float, float]
    error: float
    n: int
    leaves: int
    trees: int
    distance: str
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; None stands for NaN."""
        return without_nan(asdict(self))


@dataclass(frozen=True)
class ForestSimilarity(CorrectedSimilarity):
    """What :func:`forest_similarity` found.

    Attributes
    ----------
    spearman, pearson : float
        Corrected: 1 where nothing that matters changed, 0 for unrelated sets. Noise of estimation
        may carry them past 1 by about 0.005. NaN where a set's own trees do not agree at all.
    reliability : (float, float)
        Spearman correlation of the two groups of trees of each set.
    by_scale : tuple of ScaleSimilarity
        From the closest pairs to half of all.
    interval : (float, float)
        95 percent, of ``spearman``, for other items from the same source.
    error : float
        Monte-Carlo error of ``spearman``: how far other random halves would move it. NaN of four
        trees, of which none can be left out.
    shared : LCASimilarity
        Plain correlations of the averages over all trees. Both sets share the halves and so part
        of their errors; comparable only between forests of as many trees.
    p_value : float or None
        One-sided, items of the second set permuted; None unless asked for.
    n, items, leaves, trees, distance, missing_pairs, seed
        Rows given, rows that took part, leaves of each tree, number of trees, what a tree says of a
        pair, pairs that no tree of one group held, and the seed.
    """

    shared: LCASimilarity
    p_value: float | None
    items: int
    missing_pairs: int

    def flat(self) -> dict[str, float]:
        """Return the scores by their keys in :mod:`sag_vicreg.scores`, without those that are NaN.

        A score is NaN where a set's own trees do not agree at all.
        """
        found = {
            FOREST: self.spearman,
            "forest.pearson": self.pearson,
            "forest.low": self.interval[0],
            "forest.high": self.interval[1],
            "forest.error": self.error,
            **{f"forest.shared.{name}": value for name, value in asdict(self.shared).items()},
            "forest.reliability.first": self.reliability[0],
            "forest.reliability.second": self.reliability[1],
        }
        return {key: value for key, value in found.items() if math.isfinite(value)}


def forest_similarity(
    forest_a: Forest, forest_b: Forest, *, permutations: int = 0
) -> ForestSimilarity:
    """Compare two sets by their forests.

    The trees are in two independent groups. With the averages A1, A2 of the first set and B1, B2 of
    the second, the corrected score is ``mean(r(A1, B2), r(A2, B1)) / sqrt(r(A1, A2) r(B1, B2))``:
    trees of different halves are compared, and the noise of averaging over few trees is divided out
    as far as each set shows it against itself. It is 1 for identical sets.

    Parameters
    ----------
    forest_a, forest_b
        From :func:`~sag_vicreg.structure.ward_forest`, over the same items with the same options.
    permutations
        How many permutations of the items the p-value rests on; 0 for none.

    Examples
    --------
    >>> from sag_vicreg.structure import ward_forest
    >>> a = np.random.default_rng(0).normal(size=(80, 4))
    >>> turned = a[:, ::-1] * 3
    >>> round(forest_similarity(ward_forest(a), ward_forest(turned)).spearman, 6)
    1.0
    """
    if permutations < 0:
        raise InputError(f"permutations is {permutations}: give 0 or more")
    averages = PairAverages(forest_a, forest_b)
    bins = averages.bins()
    tables = tabulate(averages, bins)
    ranks, plain = tables.spearman(), tables.pearson()
    scores = scores_of(tables, ranks, bins, forest_a)
    places = np.arange(len(tables.plain))
    tau = kendall(JointTable.of(tables.plain, places, places))
    return ForestSimilarity(
        **vars(scores),
        interval=item_interval(forest_a, forest_b, scores.spearman),
        shared=LCASimilarity(float(plain[PLAIN]), float(ranks[PLAIN]), tau),
        error=tree_error(averages, bins),
        p_value=(
            permutation_p_value(averages, permutations=permutations, seed=forest_a.seed)
            if permutations
            else None
        ),
        n=forest_a.n_rows,
        items=forest_a.n,
        leaves=forest_a.leaves,
        trees=forest_a.trees,
        distance=forest_a.distance,
        missing_pairs=tables.missing,
        seed=forest_a.seed,
    )


def scores_of(
    tables: PairTables, ranks: Floats, bins: Bins, forest: Forest, *, what: str = "set"
) -> ForestScores:
    """Take the scores of two forests from their tables and these tables' rank correlations."""
    if np.isnan(ranks).any():
        side = "first" if np.isnan(ranks[WITHIN_A]) else "second"
        raise InputError(
            f"all pairs meet alike in the trees of the {side} {what}: the correlation is undefined"
        )
    by_scale = (_at_scale(share, tables, bins, forest) for share in _SHARES)
    return ForestScores(
        corrected(ranks),
        corrected(tables.pearson()),
        (float(ranks[WITHIN_A]), float(ranks[WITHIN_B])),
        tuple(scale for scale in by_scale if not math.isnan(scale.similarity)),
    )


def _at_scale(share: float, tables: PairTables, bins: Bins, forest: Forest) -> ScaleSimilarity:
    """Correlate "among the closest ``share`` of pairs" in both sets."""
    size = None
    if forest.distance == "size":
        code = int(np.searchsorted(bins[2], _end(tables.plain.sum(axis=1), share)))
        size = float(forest.leaves ** (code / (kernel("forest").CODES - 1)))
    similarity = corrected(np.array([_agreement(table, share) for table in tables.tables]))
    return ScaleSimilarity(share, size, similarity)


def _agreement(table: Ints32, share: float) -> float:
    """Return the phi coefficient of "among the closest ``share`` of pairs" on both sides."""
    n = int(table.sum())
    ends = [_end(table.sum(axis=axis), share) for axis in (1, 0)]
    together = int(table[: ends[0], : ends[1]].sum()) / n
    one, other = int(table[: ends[0]].sum()) / n, int(table[:, : ends[1]].sum()) / n
    variance = one * (1 - one) * other * (1 - other)
    return float((together - one * other) / np.sqrt(variance)) if variance > 0 else np.nan


def _end(marginal: Ints, share: float) -> int:
    """Return how many bins come nearest to holding ``share`` of the pairs."""
    held = np.concatenate([[0], np.cumsum(marginal)]) / marginal.sum()
    return int(np.abs(held - share).argmin())

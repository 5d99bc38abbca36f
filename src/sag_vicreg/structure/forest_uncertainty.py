"""How far chance moves a forest similarity: other items, other trees, unrelated sets."""

import math

import numpy as np

from sag_vicreg.arrays import Floats32, Ints, Ints32
from sag_vicreg.structure.corrected import corrected_score
from sag_vicreg.structure.forest import Forest, forests_of_points
from sag_vicreg.structure.forest_tables import Bins, PairAverages, PairTables
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.parallel import LONG, OneThread, Workers

# The items are divided so often into so many parts, each with so many trees of its own.
_DIVISIONS, _PARTS, _PART_TREES = 4, 4, 40
# Items below which quarters would be too few for trees: halves then, as many parts in all.
_QUARTERED = 200
# The 97.5th percentile of Student's t with 12 degrees of freedom, four divisions into four parts.
_T = 2.179
_TREE_BLOCKS = 10
# Items whose pairs tell how much the trees matter, and items a permutation test looks at.
_FOLLOWED, _PERMUTED = 500, 3_000


def item_interval(forest_a: Forest, forest_b: Forest, score: float) -> tuple[float, float]:
    """Return a 95 percent interval of the corrected Spearman score, for other items.

    The items are divided into quarters, each scored anew with trees of its own; the variance
    between quarters, over four, is that of the whole, as it falls with the number of items. Four
    divisions are averaged. Of the jackknives that leave out groups of items, one that keeps the
    trees covers the truth too rarely, and one that builds them anew always, at 20 times the cost
    (``python -m benchmarks coverage``; docs/metric.md has the numbers).
    """
    n = forest_a.n
    parts = _PARTS if n >= _QUARTERED else 2
    divisions = _DIVISIONS * _PARTS // parts
    tasks = [
        part
        for division in range(divisions)
        for part in np.array_split(
            np.random.default_rng([forest_a.seed, 5, division]).permutation(n), parts
        )
    ]
    with Workers(n) as workers:
        found = workers.map(
            lambda part: _score_of(forest_a, forest_b, part),
            tasks,
            bar="interval" if n > LONG / 2 else None,
        )
    variances = np.var(np.reshape(found, (divisions, parts)), axis=1, ddof=1)
    # Trees of a part may happen not to agree with one another at all: that division tells nothing.
    known = variances[~np.isnan(variances)]
    error = math.sqrt(known.mean() / parts) if len(known) else math.nan
    return score - _T * error, score + _T * error


def _score_of(forest_a: Forest, forest_b: Forest, part: Ints) -> float:
    one, other = (
        forests_of_points(
            [forest.points[part]],
            forest.geometry,
            trees=_PART_TREES,
            distance=forest.distance,
            seed=forest.seed,
            workers=OneThread(),
        )[0]
        for forest in (forest_a, forest_b)
    )
    return corrected_score(one, other, workers=OneThread())


def tree_error(averages: PairAverages, bins: Bins) -> float:
    """Return the Monte-Carlo error of the corrected score: how far other trees would move it.

    A jackknife over ten blocks of trees, on the pairs of up to 500 items.
    """
    n = min(_FOLLOWED, averages.a.n)
    n_blocks = min(_TREE_BLOCKS, averages.a.trees // 2)
    followed = averages.square(n, n_blocks)
    groups = [followed[:, k::2].sum(axis=1, dtype=np.int32) for k in (0, 1)]
    scores = []
    for block in range(n_blocks):
        left = np.stack(groups, axis=1)
        left[:, block % 2] -= followed[:, block]
        tables = PairTables(plain=False)
        tables.count(left, 0, bins)
        scores.append(tables.corrected()[0])
    return math.sqrt((n_blocks - 1) * float(np.var(scores)))


def permutation_p_value(averages: PairAverages, *, permutations: int, seed: int) -> float:
    """Return Mantel's one-sided p-value of the corrected score: items of B are permuted.

    A relabelling leaves the trees and the reliabilities as they are, so only the cross-correlations
    are computed again, on up to 3,000 items.
    """
    n = min(_PERMUTED, averages.a.n)
    sums_a, sums_b, counts = averages.square(n)
    one = [_standard_ranks(sums_a[k], counts[k]) for k in (0, 1)]
    other = [_standard_ranks(sums_b[k], counts[k]) for k in (1, 0)]
    product = kernel("forest").permuted_product

    def score(rows: Ints) -> float:
        return float(product(one[0], other[0], rows) + product(one[1], other[1], rows))

    rng = np.random.default_rng([seed, 4])
    orders = [rng.permutation(n) for _ in range(permutations)]
    observed = score(np.arange(n))
    with Workers() as workers:
        permuted = np.array(workers.map(score, orders, bar="permutations" if n > 1000 else None))
    # Equal scores that rounding tells apart count as reached.
    reached = int((permuted >= observed - 1e-9 * abs(observed)).sum())
    return (1 + reached) / (permutations + 1)


def _standard_ranks(sums: Ints32, counts: Ints32) -> Floats32:
    """Return mid-ranks of a group's averages, of mean 0 and variance 1, as a symmetric matrix.

    Pairs that the group does not hold are 0. Which pairs the other group holds must not matter: it
    is another set of pairs once the items are permuted.
    """
    forests = kernel("forest")
    held = np.triu(counts > 0, 1)
    scale = (forests.CODES - 1) / forests.UNIT
    codes = np.rint(sums * scale / np.maximum(counts, 1)).astype(np.uint16)
    count = np.bincount(codes[held], minlength=forests.CODES)
    ranks = np.cumsum(count) - count / 2
    ranks -= np.average(ranks, weights=count)
    ranks /= math.sqrt(float(np.average(ranks**2, weights=count))) or 1.0
    square = np.where(held, ranks.astype(np.float32)[codes], 0)
    return square + square.T

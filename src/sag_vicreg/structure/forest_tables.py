"""Two forests over the same halves, tabulated: how often pairs get which averages in both.

Six averages of a pair enter: over the first group of trees, the second, and all of them, in forest
A (A1, A2, A) and in forest B (B1, B2, B). No array of pairs is kept. Averages are computed for a
few items at a time and counted in joint tables, from which every correlation follows.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Floats, Ints32
from sag_vicreg.errors import InputError
from sag_vicreg.structure.forest import Forest
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.parallel import Workers, blocks

Bins = npt.NDArray[np.uint16]
"""Of each code of the six averages, (6, codes)."""

# (A1, B2), (A2, B1), (A1, A2), (B1, B2), then the plain (A, B).
WITHIN_A, WITHIN_B, PLAIN = 2, 3, 4
# Bins hold shares of pairs that widen from 4e-6 to 4e-3: over a hundred trees Spearman's rho moves
# by less than 5e-5, of 50 items, which have few pairs, by less than 2e-4. Kendall's tau, which is
# taken of A and B alone, asks for more: with these it moves by less than 5e-4.
_BINS, _PLAIN_BINS = 512, 2048
# Rows whose sums a core's cache holds.
ROWS = 32
_SAMPLE = 128


class PairTables:
    """What pairs of items add up to.

    Attributes
    ----------
    tables : (4, bins, bins) int32
        Joint counts of pairs, of (A1, B2), (A2, B1), (A1, A2) and (B1, B2).
    plain : (bins, bins) int32
        The same of (A, B), in narrower bins; empty where nobody asks for it.
    moments : (5, 5) int64
        Sums of x, y, xx, yy and xy of all five averages, as whole numbers.
    missing : int
        Pairs that no tree of some group holds, which count nowhere.
    """

    def __init__(self, *, plain: bool = True) -> None:
        self.tables = np.zeros((4, _BINS, _BINS), np.int32)
        self.plain = np.zeros((_PLAIN_BINS if plain else 0,) * 2, np.int32)
        self.moments = np.zeros((5, 5), np.int64)
        self.missing = 0

    def count(self, sums: Ints32, start: int, bins: Bins) -> None:
        """Count the pairs of the items from ``start`` on with later ones.

        ``sums`` are those of their rows, from :class:`PairAverages`.
        """
        self.missing += kernel("forest").tabulate(
            *sums, start, bins, self.tables, self.plain, self.moments
        )

    def add(self, other: "PairTables") -> None:
        """Add what was counted elsewhere."""
        self.tables += other.tables
        self.plain += other.plain
        self.moments += other.moments
        self.missing += other.missing

    @property
    def pairs(self) -> int:
        """Pairs counted."""
        return int(self.tables[0].sum(dtype=np.int64))

    def spearman(self) -> Floats:
        """Return the five rank correlations."""
        return np.array([rank_correlation(table) for table in (*self.tables, self.plain)])

    def pearson(self) -> Floats:
        """Return the five correlations of the averages themselves."""
        n, found = self.pairs, []
        for x, y, xx, yy, xy in self.moments.tolist():
            variance = (n * xx - x * x) * (n * yy - y * y)
            found.append((n * xy - x * y) / math.sqrt(variance) if variance > 0 else math.nan)
        return np.array(found)

    def corrected(self) -> tuple[float, float]:
        """Return the corrected scores: Spearman, Pearson."""
        ranks = np.array([rank_correlation(table) for table in self.tables])
        return corrected(ranks), corrected(self.pearson())


def corrected(correlations: Floats) -> float:
    """Return mean(r(A1, B2), r(A2, B1)) / sqrt(r(A1, A2) r(B1, B2)).

    NaN where the trees of a set do not agree with one another at all.
    """
    first, second, within_a, within_b = correlations[:PLAIN].tolist()
    if not (within_a > 0 and within_b > 0):
        return math.nan
    return float((first + second) / 2 / math.sqrt(within_a * within_b))


def rank_correlation(table: Ints32) -> float:
    """Return Spearman's rho of a joint table, with mid-ranks; NaN where all pairs are tied.

    In whole numbers, so that the table of the sets the other way round has the same to the last
    bit: a floor is compared with the score that it was made of.
    """
    marginals = [table.sum(axis=axis, dtype=np.int64) for axis in (1, 0)]
    n = marginals[0].sum()
    # Twice the mid-ranks, less twice their mean.
    ranks = [2 * np.cumsum(each) - each - n for each in marginals]
    rows = table @ ranks[1]
    # Python's own numbers have no largest.
    (n_a, n_b), (a, b) = ([x.astype(object) for x in each] for each in (marginals, ranks))
    variance = (n_a @ a**2) * (n_b @ b**2)
    return float(a @ rows.astype(object)) / math.sqrt(variance) if variance > 0 else math.nan


@dataclass(frozen=True, eq=False)
class PairAverages:
    """The averages of two forests over the same halves, for some items at a time."""

    a: Forest
    b: Forest

    def __post_init__(self) -> None:
        a, b = self.a, self.b
        if (a.n_rows, a.seed, a.trees, a.distance) != (b.n_rows, b.seed, b.trees, b.distance) or (
            not np.array_equal(a.items, b.items)
        ):
            raise InputError(
                f"forests of {a.trees} trees, {a.n_rows} rows, distance '{a.distance}' and seed "
                f"{a.seed}, and of {b.trees}, {b.n_rows}, '{b.distance}' and {b.seed}: build both "
                "with the same options over the same items"
            )

    def rows(self, rows: slice, n_blocks: int = 2, *, stop: int | None = None) -> Ints32:
        """Return sums over trees in A, in B, and how many trees, (3, blocks, rows, stop).

        Split s is in block s modulo ``n_blocks``; two blocks are the two groups of trees. Partners
        are the items from the first of ``rows`` to ``stop``, all by default.
        """
        forests = kernel("forest")
        stop = stop or self.a.n
        sums = np.zeros((3, n_blocks, rows.stop - rows.start, stop), np.int32)
        for block in range(n_blocks):
            splits = np.arange(block, self.a.trees // 2, n_blocks)
            trees = np.concatenate([2 * splits, 2 * splits + 1])
            for side, forest in enumerate((self.a, self.b)):
                forests.add_rows(
                    forest.order, forest.value, trees, rows.start, stop, sums[side, block]
                )
            if len(self.a.half):
                forests.count_rows(self.a.half, splits, rows.start, sums[2, block])
            else:
                sums[2, block] = len(trees)
        return sums

    def square(self, n: int, n_blocks: int = 2) -> Ints32:
        """Return the same for pairs of the first ``n`` items, (3, blocks, n, n), row < column."""
        with Workers(self.a.n) as workers:
            parts = workers.map(lambda rows: self.rows(rows, n_blocks, stop=n), blocks(n, ROWS))
        return np.concatenate(parts, axis=2)

    def bins(self, *, rows_at_once: int = ROWS) -> Bins:
        """Return the bin of each code of the six averages, from the first items' pairs."""
        forests = kernel("forest")
        found = np.zeros((6, forests.CODES), np.int64)
        for rows in blocks(min(_SAMPLE, self.a.n), rows_at_once):
            sums_a, sums_b, counts = self.rows(rows)
            forests.histograms(sums_a, counts, rows.start, found[:3])
            forests.histograms(sums_b, counts, rows.start, found[3:])
        bins: Bins = np.zeros(found.shape, np.uint16)
        for one, seen, n_bins in zip(bins, found, [_BINS, _BINS, _PLAIN_BINS] * 2, strict=True):
            codes = np.flatnonzero(seen)
            held = seen[codes]
            share = (np.cumsum(held) - held / 2) / max(held.sum(), 1)
            # Averages over few trees take few values, which are then told apart.
            few = len(codes) <= n_bins
            one[codes] = np.arange(len(codes)) if few else n_bins * np.sqrt(share)
        # A code that does not occur goes with the one before it.
        return np.maximum.accumulate(bins, axis=1)


def tabulate(
    averages: PairAverages,
    bins: Bins,
    *,
    plain: bool = True,
    workers: Workers | None = None,
    rows_at_once: int = ROWS,
) -> PairTables:
    """Count all pairs of items; the table of (A, B) only if it is asked for."""

    def count(part: list[slice]) -> PairTables:
        found = PairTables(plain=plain)
        for rows in part:
            found.count(averages.rows(rows), rows.start, bins)
        return found

    every = blocks(averages.a.n, rows_at_once)
    with nullcontext(workers) if workers else Workers(averages.a.n) as pool:
        # Early items have more pairs than late ones: each worker takes every so many blocks.
        whole, *rest = pool.map(count, [every[k :: pool.count] for k in range(pool.count)])
    for part in rest:
        whole.add(part)
    return whole

"""Exact sums over a table of counts, in integers wider than 64 bits.

Among 200,000 leaves there are 2e10 pairs and 2e20 pairs of pairs, past the 9.2e18 of int64. Sums
are kept as two numbers, each safe by the limits written beside it.
"""

import numpy as np

from sag_vicreg.compiling import compiled

# Values are cut here: with up to 2**36 pairs, low * pairs < 2**56 and (2**38 / 2**20) * pairs
# < 2**54, so that sums over all pairs stay below 2**63.
LIMB = 20
_MASK = (1 << LIMB) - 1


@compiled("void(int32[:,::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def row_sums(cells, counts, values, low, high):
    """Sum ``values[column] * count`` over the cells of each row, as high * 2**LIMB + low."""
    for cell in range(len(counts)):
        row, value = cells[cell, 0], values[cells[cell, 1]]
        low[row] += (value & _MASK) * counts[cell]
        high[row] += (value >> LIMB) * counts[cell]


@compiled("void(uint64[::1], int64, int64)")
def _add_product(total, x, y):
    """Add ``x * y`` to ``total``: two 128-bit sums, of the products with x's low and high limb."""
    low, high = np.uint64((x & _MASK) * y), np.uint64((x >> LIMB) * y)
    total[0] += low
    total[1] += np.uint64(total[0] < low)
    total[2] += high
    total[3] += np.uint64(total[2] < high)


@compiled("void(int32[:,::1], int64[::1], int64[::1], int64, uint64[:,::1])")
def concordance(cells, counts, row_starts, n_columns, totals):
    """Count concordant pairs of pairs, and pairs tied in both, for cells sorted by row.

    Rows are taken in ascending order, over a Fenwick tree of how many pairs of earlier rows have
    each column. ``totals[0]`` gets the concordant ones, ``totals[1]`` the squares of all cells.
    """
    fenwick = np.zeros(n_columns + 1, np.int64)
    in_row = np.zeros(n_columns, np.int64)
    columns = np.empty(n_columns, np.int64)
    for row in range(len(row_starts) - 1):
        used = 0
        for cell in range(row_starts[row], row_starts[row + 1]):
            column = cells[cell, 1]
            if in_row[column] == 0:
                columns[used] = column
                used += 1
            in_row[column] += counts[cell]
        for u in range(used):
            column = columns[u]
            smaller, node = 0, column
            while node > 0:
                smaller += fenwick[node]
                node -= node & -node
            _add_product(totals[0], in_row[column], smaller)
            _add_product(totals[1], in_row[column], in_row[column])
        for u in range(used):
            column = columns[u]
            node = column + 1
            while node <= n_columns:
                fenwick[node] += in_row[column]
                node += node & -node
            in_row[column] = 0


@compiled("void(float64[::1], int64[::1])")
def rank_in_place(values, order):
    """Replace values by their mid-ranks, from 1; ``order`` sorts them."""
    n = len(order)
    first = 0
    while first < n:
        value = values[order[first]]
        last = first + 1
        while last < n and values[order[last]] == value:
            last += 1
        for place in range(first, last):
            values[order[place]] = 0.5 * (first + last + 1)
        first = last

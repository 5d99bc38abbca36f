"""Exact sums over a table of counts, in integers of 128 bits.

Among 200,000 leaves there are 2e10 pairs and 2e20 pairs of pairs, past the 9.2e18 of int64. A sum
is kept as two numbers, its low and its high 64 bits: enough for tables of billions of rows.
"""

import numpy as np

from sag_vicreg.compiling import compiled

_HALF = np.uint64(32)
_MASK = np.uint64((1 << 32) - 1)


@compiled("void(uint64[::1], int64, int64)")
def _add_product(total, x, y):
    """Add ``x * y``, of two numbers not below 0, to ``total``: its low and its high 64 bits."""
    one, other = np.uint64(x), np.uint64(y)
    x_low, x_high, y_low, y_high = one & _MASK, one >> _HALF, other & _MASK, other >> _HALF
    lowest, crossed, turned = x_low * y_low, x_low * y_high, x_high * y_low
    middle = (lowest >> _HALF) + (crossed & _MASK) + (turned & _MASK)
    low = (lowest & _MASK) | (middle << _HALF)
    total[0] += low
    total[1] += x_high * y_high + (crossed >> _HALF) + (turned >> _HALF) + (middle >> _HALF)
    total[1] += np.uint64(total[0] < low)


@compiled("void(int32[:,::1], int64[::1], int64[::1], uint64[:,::1])")
def row_sums(cells, counts, values, totals):
    """Sum ``values[column] * count`` over the cells of each row."""
    for cell in range(len(counts)):
        _add_product(totals[cells[cell, 0]], values[cells[cell, 1]], counts[cell])


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

"""Pairs of items over many trees: what each tree says of a pair, added up and tabulated.

Everything is counted in whole numbers, so that no result depends on the order of the work.
"""

import numpy as np

from sag_vicreg.compiling import compiled

# What a tree says of a pair, in [0, 1], is kept as a multiple of 2**-20, and its mean over trees
# as one of 2**16 codes: Pearson's r moves by about 1e-7, by up to 5e-6 where pairs are few.
UNIT = 1 << 20
CODES = 1 << 16


@compiled("int64(int32[::1], int32[::1], int64, int64, uint32[::1], int32[::1], int64[::1])")
def prune(order, value, first, stop, leaf, split, place):
    """Keep the items from ``first`` to ``stop`` of a tree in leaf order; return how many.

    ``leaf`` and ``split`` become the order and the values of the tree of those alone: the common
    cluster of two neighbours is the highest merge that stood between them. ``place[i]`` is where
    item ``first + i`` stands now, -1 where it is not in the tree.
    """
    place[:] = -1
    kept = 0
    highest = np.int32(0)
    for k in range(len(order)):
        item = order[k]
        if first <= item < stop:
            leaf[kept] = item
            if kept:
                split[kept - 1] = highest
            if item - first < len(place):
                place[item - first] = kept
            kept += 1
            highest = np.int32(0)
        if k < len(value):
            highest = max(highest, value[k])
    return kept


@compiled("void(int32[:,::1], int32[:,::1], int64[::1], int64, int64, int32[:,::1])")
def add_rows(order, value, trees, start, stop, sums):
    """Add what ``trees`` say of the pairs of some items, from ``start`` on, to ``sums``.

    Their partners are the items from ``start`` to ``stop``. In leaf order the common cluster of two
    leaves is the highest merge between them, so a running maximum from an item's place outwards
    meets every partner once.
    """
    leaf = np.empty(order.shape[1], np.uint32)
    split = np.empty(order.shape[1], np.int32)
    place = np.empty(len(sums), np.int64)
    for tree in trees:
        kept = prune(order[tree], value[tree], start, stop, leaf, split, place)
        for row in range(len(sums)):
            here = place[row]
            if here < 0:
                continue
            total = sums[row]
            highest = np.int32(0)
            # Unsigned places, and slices: a sign to check at every step would cost a third.
            after, above = leaf[here + 1 : kept], split[here:kept]
            for k in range(len(after)):
                highest = max(highest, above[k])
                total[after[k]] += highest
            highest = np.int32(0)
            for back in range(here):
                before = np.uint32(here - 1 - back)
                highest = max(highest, split[before])
                total[leaf[before]] += highest


@compiled("void(int8[:,::1], int64[::1], int64, int32[:,::1])")
def count_rows(half, splits, start, counts):
    """Count for some items, from ``start`` on, how many ``splits`` put them together with others.

    ``half[split, item]`` is 0 or 1, and -1 for an item that the split leaves out.
    """
    stop = counts.shape[1]
    for split in splits:
        side = half[split, start:stop]
        for row in range(len(counts)):
            here = side[row]
            if here < 0:
                continue
            total = counts[row, start:stop]
            for other in range(len(side)):
                total[other] += np.int32(side[other] == here)


@compiled("void(int32[:,:,::1], int32[:,:,::1], int64, int64, uint16[:,::1])")
def _encode(sums, counts, row, first, codes):
    """Write the codes of a row's averages over each group of trees and over all, from ``first``."""
    scale = (CODES - 1) / UNIT
    for other in range(first, sums.shape[2]):
        one, two = counts[0, row, other], counts[1, row, other]
        a, b = np.float64(sums[0, row, other]), np.float64(sums[1, row, other])
        # A pair that is missing from a group gets a code that nobody reads.
        codes[0, other] = np.uint16(a * scale / max(one, 1) + 0.5)
        codes[1, other] = np.uint16(b * scale / max(two, 1) + 0.5)
        codes[2, other] = np.uint16((a + b) * scale / max(one + two, 1) + 0.5)


@compiled("void(int32[:,:,::1], int32[:,:,::1], int64, int64[:,::1])")
def histograms(sums, counts, start, found):
    """Count the codes of the pairs of some items with later ones: by group of trees, and by all."""
    n = sums.shape[2]
    codes = np.zeros((3, n), np.uint16)
    for row in range(sums.shape[1]):
        first = start + row + 1
        _encode(sums, counts, row, first, codes)
        for other in range(first, n):
            if counts[0, row, other] and counts[1, row, other]:
                for k in range(3):
                    found[k, codes[k, other]] += 1


@compiled("void(uint16[::1], uint16[::1], int64[::1])")
def _add_moments(x, y, moments):
    """Add the sums x, y, xx, yy and xy."""
    sum_x = sum_y = sum_xx = sum_yy = sum_xy = np.uint64(0)
    for k in range(len(x)):
        one, other = np.uint64(x[k]), np.uint64(y[k])
        sum_x += one
        sum_y += other
        sum_xx += one * one
        sum_yy += other * other
        sum_xy += one * other
    sums = (sum_x, sum_y, sum_xx, sum_yy, sum_xy)
    for k in range(len(sums)):
        moments[k] += np.int64(sums[k])


@compiled("void(uint16[::1], uint16[::1], int32[:,::1])")
def _add_cells(x, y, table):
    """Count pairs in a joint table."""
    for k in range(len(x)):
        table[x[k], y[k]] += 1


@compiled(
    "int64(int32[:,:,::1], int32[:,:,::1], int32[:,:,::1], int64, uint16[:,::1],"
    " int32[:,:,::1], int32[:,::1], int64[:,::1])"
)
def tabulate(sums_a, sums_b, counts, start, bins, tables, plain, moments):
    """Count the pairs of some items with later ones by their bins; return how many are missing.

    ``tables`` are of (A1, B2), (A2, B1), (A1, A2) and (B1, B2), ``plain`` is of (A, B), and
    ``moments`` hold sums of codes for each of the five. An empty ``plain`` is left out.
    """
    n = sums_a.shape[2]
    missing = 0
    codes = np.zeros((6, n), np.uint16)
    pairs = ((0, 4), (1, 3), (0, 1), (3, 4), (2, 5))
    for row in range(sums_a.shape[1]):
        first = start + row + 1
        _encode(sums_a, counts, row, first, codes[:3])
        _encode(sums_b, counts, row, first, codes[3:])
        # Missing pairs leave gaps: close them.
        end = first
        for other in range(first, n):
            if counts[0, row, other] == 0 or counts[1, row, other] == 0:
                missing += 1
                continue
            if end < other:
                codes[:, end] = codes[:, other]
            end += 1
        for k in range(5):
            left, right = pairs[k]
            _add_moments(codes[left, first:end], codes[right, first:end], moments[k])
        for k in range(6):
            for other in range(first, end):
                codes[k, other] = bins[k, codes[k, other]]
        for k in range(5 if len(plain) else 4):
            left, right = pairs[k]
            table = tables[k] if k < 4 else plain
            _add_cells(codes[left, first:end], codes[right, first:end], table)
    return missing


@compiled("float64(float32[:,::1], float32[:,::1], int64[::1])")
def permuted_product(one, other, rows):
    """Sum ``one[i, j] * other[rows[i], rows[j]]`` over pairs j < i (Mantel's statistic)."""
    total = 0.0
    for i in range(1, len(rows)):
        left, right = one[i], other[rows[i]]
        part = 0.0
        for j in range(i):
            part += left[j] * right[rows[j]]
        total += part
    return total

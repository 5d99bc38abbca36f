"""Rounds of Ward's method on a packed matrix: all reciprocal nearest neighbours merge at once.

Row ``i`` of the packed matrix holds its ``i`` entries before the diagonal; entries are squared
dissimilarities. A round is two streaming passes: find every cluster's nearest, then rewrite the
matrix, in place and smaller, with the pairs merged.
"""

import numpy as np
from numba import njit

from sag_vicreg.structure.kernels import COMPILE

# Below this, 1 - cos has lost digits that the difference vector still has.
_CANCELLED = 1e-4


@njit("void(float64[:,::1], float64[:,::1], int64, float64[::1])", **COMPILE)
def fill_cosine(cosines, unit, start, packed):
    """Write the squared cosine distances of rows ``start + r`` from a block of cosines."""
    for r in range(cosines.shape[0]):
        i = start + r
        offset = i * (i - 1) // 2
        for j in range(i):
            distance = 1.0 - cosines[r, j]
            if distance < _CANCELLED:
                distance = 0.0
                for k in range(unit.shape[1]):
                    difference = unit[i, k] - unit[j, k]
                    distance += difference * difference
                distance *= 0.5
            packed[offset + j] = distance * distance


@njit("void(int64, float64, int64, float64[::1], float64[::1], int64[::1])", **COMPILE)
def _take(i, value, partner, smallest, second, nearest):
    """Offer cluster ``i`` a partner."""
    if value < smallest[i] or (value == smallest[i] and partner < nearest[i]):
        second[i] = smallest[i]
        smallest[i], nearest[i] = value, partner
    else:
        second[i] = min(second[i], value)


@njit("void(float64[::1], int64, int64, float64[::1], float64[::1], int64[::1])", **COMPILE)
def find_nearest(packed, start, stop, smallest, second, nearest):
    """Update every cluster's two smallest entries, and the first's partner, by rows of the matrix.

    Equal entries go to the partner of lower index, so the answer does not depend on the order in
    which rows are seen.
    """
    for i in range(start, stop):
        offset = i * (i - 1) // 2
        low, next_low, partner = np.inf, np.inf, -1
        for j in range(i):
            value = packed[offset + j]
            if value < next_low:
                if value < low:
                    next_low, low, partner = low, value, j
                else:
                    next_low = value
            if value < second[j]:
                if value < smallest[j]:
                    second[j], smallest[j], nearest[j] = smallest[j], value, i
                else:
                    second[j] = value
        # Earlier rows of other blocks may have filled this column's place: merge the two.
        _take(i, low, partner, smallest, second, nearest)
        second[i] = min(second[i], next_low)


@njit(
    "void(float64[:,::1], float64[:,::1], int64[:,::1], float64[::1], float64[::1], int64[::1])",
    **COMPILE,
)
def combine_nearest(all_smallest, all_second, all_nearest, smallest, second, nearest):
    """Reduce what each thread found to one answer."""
    for i in range(len(smallest)):
        smallest[i], second[i], nearest[i] = np.inf, np.inf, -1
        for t in range(all_smallest.shape[0]):
            if all_nearest[t, i] >= 0:
                _take(i, all_smallest[t, i], all_nearest[t, i], smallest, second, nearest)
                second[i] = min(second[i], all_second[t, i])


@njit("float64(float64[::1], int64, int64)", **COMPILE)
def _entry(packed, i, j):
    return packed[i * (i - 1) // 2 + j] if i > j else packed[j * (j - 1) // 2 + i]


@njit("float64(float64, float64, float64, float64, float64, float64)", **COMPILE)
def _lance_williams(to_x, to_y, between, size_x, size_y, size):
    return ((size_x + size) * to_x + (size_y + size) * to_y - size * between) / (
        size_x + size_y + size
    )


@njit(
    "void(float64[::1], int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], int64,"
    " float64[:,::1])",
    **COMPILE,
)
def merge_rows(packed, left, right, between, sizes, united, start, block):
    """Compute rows ``start + r`` of the next round's matrix.

    New cluster ``c`` is the old ``left[c]``, united with ``right[c] > left[c]`` unless that is -1;
    ``united`` lists those that are, ``between`` holds the entries of their two halves, ``sizes``
    are the old sizes.
    """
    for r in range(block.shape[0]):
        i = start + r
        x, y = left[i], right[i]
        row_x, row_y = x * (x - 1) // 2, y * (y - 1) // 2
        if y < 0:
            for c in range(i):
                block[r, c] = packed[row_x + left[c]]
        else:
            for c in range(i):
                p = left[c]
                block[r, c] = _lance_williams(
                    packed[row_x + p], packed[row_y + p], between[i], sizes[x], sizes[y], sizes[p]
                )
        size = sizes[x] + (sizes[y] if y >= 0 else 0.0)
        for c in united:
            if c >= i:
                break
            p, q = left[c], right[c]
            other = _entry(packed, x, q)
            if y >= 0:
                other = _lance_williams(
                    other, _entry(packed, y, q), between[i], sizes[x], sizes[y], sizes[q]
                )
            block[r, c] = _lance_williams(block[r, c], other, between[c], sizes[p], sizes[q], size)


@njit("void(float64[:,::1], int64, float64[::1])", **COMPILE)
def write_rows(block, start, packed):
    """Put computed rows in their place."""
    for r in range(block.shape[0]):
        i = start + r
        offset = i * (i - 1) // 2
        for c in range(i):
            packed[offset + c] = block[r, c]

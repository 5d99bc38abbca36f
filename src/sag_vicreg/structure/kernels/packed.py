"""Rounds of Ward's method on a packed matrix: all reciprocal nearest neighbours merge at once.

Row ``i`` of the packed matrix holds its ``i`` entries before the diagonal; entries are squared
dissimilarities. A round finds every cluster's nearest in one streaming pass, then updates the rows
and columns of the pairs that merge. The union takes the place of the lower cluster of a pair; the
higher one's place is dead: its row is skipped, its column holds infinity.
"""

import numpy as np

from sag_vicreg.compiling import compiled

# Below this, 1 - cos has lost digits that the difference vector still has.
_CANCELLED = 1e-3


@compiled("void(float64[:,::1], float64[:,::1], int64, float64[::1])")
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


@compiled("void(int64, float64, int64, float64[::1], float64[::1], int64[::1])")
def _take(i, value, partner, smallest, second, nearest):
    """Offer cluster ``i`` a partner."""
    if value < smallest[i] or (value == smallest[i] and partner < nearest[i]):
        second[i] = smallest[i]
        smallest[i], nearest[i] = value, partner
    else:
        second[i] = min(second[i], value)


@compiled("void(float64[::1], boolean[::1], int64, int64, float64[::1], float64[::1], int64[::1])")
def find_nearest(packed, alive, start, stop, smallest, second, nearest):
    """Update every cluster's two smallest entries, and the first's partner, by rows of the matrix.

    Equal entries go to the partner of lower index, so the answer does not depend on the order in
    which blocks of rows are seen.
    """
    for i in range(start, stop):
        if not alive[i]:
            continue
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
        _take(i, low, partner, smallest, second, nearest)
        second[i] = min(second[i], next_low)


@compiled(
    "void(float64[:,::1], float64[:,::1], int64[:,::1], float64[::1], float64[::1], int64[::1])"
)
def combine_nearest(all_smallest, all_second, all_nearest, smallest, second, nearest):
    """Reduce what each thread found to one answer."""
    for i in range(len(smallest)):
        smallest[i], second[i], nearest[i] = np.inf, np.inf, -1
        for t in range(all_smallest.shape[0]):
            if all_nearest[t, i] >= 0:
                _take(i, all_smallest[t, i], all_nearest[t, i], smallest, second, nearest)
                second[i] = min(second[i], all_second[t, i])


@compiled("float64(float64[::1], int64, int64)")
def entry(packed, i, j):
    """Return what stands between two clusters, in whichever order they are given."""
    return packed[i * (i - 1) // 2 + j] if i > j else packed[j * (j - 1) // 2 + i]


@compiled("float64(float64, float64, float64, float64, float64, float64)")
def lance_williams(to_x, to_y, between, size_x, size_y, size):
    """Update Ward's squared dissimilarity: of a cluster to the union of ``x`` and ``y``."""
    return ((size_x + size) * to_x + (size_y + size) * to_y - size * between) / (
        size_x + size_y + size
    )


@compiled(
    "void(float64[::1], int64[::1], int64[::1], int64[::1], float64[::1], float64[::1], int64,"
    " int64)"
)
def merge_rows(packed, partners, left, right, between, sizes, start, stop):
    """Update rows ``start`` to ``stop`` for the pairs (``left``, ``right``), ascending in ``left``.

    ``partners[i]`` is the other half where ``i`` is a left half, -1 where ``i`` stays as it is, -2
    where its row is not updated. ``between`` are the pairs' own entries, ``sizes`` the old sizes.
    Every row reads itself and rows of right halves, which nobody writes, so rows need no order.
    """
    for i in range(start, stop):
        y = partners[i]
        if y == -2:
            continue
        row, size = i * (i - 1) // 2, sizes[i]
        own = 0.0
        if y >= 0:
            row_y = y * (y - 1) // 2
            own, size = packed[row_y + i], sizes[i] + sizes[y]
            for z in range(i):
                packed[row + z] = lance_williams(
                    packed[row + z], packed[row_y + z], own, sizes[i], sizes[y], sizes[z]
                )
        for k in range(len(left)):
            p, q = left[k], right[k]
            if p >= i:
                break
            if q < i:
                to_q = packed[row + q]
                packed[row + q] = np.inf
            else:
                to_q = entry(packed, i, q)
                if y >= 0:
                    to_q = lance_williams(
                        to_q, entry(packed, y, q), own, sizes[i], sizes[y], sizes[q]
                    )
            packed[row + p] = lance_williams(
                packed[row + p], to_q, between[k], sizes[p], sizes[q], size
            )


@compiled("void(float64[::1], int64[::1], float64[::1])")
def compact(packed, kept, into):
    """Close the gaps between the places ``kept``, ascending, so that scans stay dense.

    ``into`` may be the same array.
    """
    for i in range(len(kept)):
        source, target = kept[i] * (kept[i] - 1) // 2, i * (i - 1) // 2
        for j in range(i):
            into[target + j] = packed[source + kept[j]]

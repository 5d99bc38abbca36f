"""Ward's method on a matrix of dissimilarities: the nearest-neighbour chain.

The matrix is packed: row ``i`` holds its ``i`` entries before the diagonal, one row after another.
Entries are squared dissimilarities, so that the Lance-Williams update needs no square roots.
"""

import numpy as np

from sag_vicreg.compiling import compiled
from sag_vicreg.structure.kernels.packed import compact, entry, lance_williams


@compiled("float64(float64)")
def tie_limit(squared):
    """Return the squared dissimilarity up to which another is tied with ``squared``.

    The margin is what rounding can move: some units of a cosine distance taken from a dot product,
    and of one taken from the difference of two unit vectors, whose own rounding is of the order of
    its square root.
    """
    distance = np.sqrt(squared)
    limit = distance * (1.0 + 1e-12) + 1e-15 * np.sqrt(distance) + 1e-30
    return limit * limit


@compiled("Tuple((int64, float64, boolean))(float64[::1], int64[::1], int64, int64, int64)")
def _nearest(packed, active, count, place, preferred):
    """Find the cluster nearest to ``active[place]``; on a tie ``preferred``, then the first.

    Returns its place among the active, its squared dissimilarity, and whether another is tied.
    """
    x = active[place]
    smallest, second, nearest = np.inf, np.inf, -1
    if preferred >= 0:
        smallest, nearest = entry(packed, x, active[preferred]), preferred
    offset = x * (x - 1) // 2
    for a in range(place):
        if a != preferred:
            value = packed[offset + active[a]]
            if value < smallest:
                smallest, second, nearest = value, smallest, a
            else:
                second = min(second, value)
    for a in range(place + 1, count):
        if a != preferred:
            y = active[a]
            value = packed[y * (y - 1) // 2 + x]
            if value < smallest:
                smallest, second, nearest = value, smallest, a
            else:
                second = min(second, value)
    return nearest, smallest, second <= tie_limit(smallest)


@compiled("void(float64[::1], int64[::1], int64, float64[::1], int64, int64)")
def _merge(packed, active, count, sizes, x, y):
    """Make ``y`` the union of ``x`` and ``y``."""
    between = entry(packed, x, y)
    for a in range(count):
        z = active[a]
        if z not in (x, y):
            to_y = max(y, z) * (max(y, z) - 1) // 2 + min(y, z)
            packed[to_y] = lance_williams(
                entry(packed, x, z), packed[to_y], between, sizes[x], sizes[y], sizes[z]
            )
    sizes[y] += sizes[x]


@compiled(
    "int64(float64[::1], float64[::1], int64[::1], int64[::1], int64[::1], float64[::1])",
)
def ward_chain(packed, sizes, points, first, second, heights):
    """Cluster ``packed`` (overwritten); merge ``k`` joins the clusters of two points at a height.

    ``sizes`` and ``points`` tell how large each cluster already is, and one point of it. Follow
    nearest neighbours until two clusters are each other's nearest, merge them, go on from where the
    chain stood (Murtagh, 1983). Ward's update is reducible, so the merges are those of the greedy
    algorithm in another order. Returns the number of tied merges.
    """
    count = width = len(sizes)
    active = np.arange(count)
    chain = np.empty(count, np.int64)
    tied = np.zeros(count, np.bool_)
    length = ties = 0
    for merge in range(count - 1):
        if length == 0:
            # The last cluster has the longest row, and a row is read faster than a column.
            chain[0], length = count - 1, 1
        while True:
            previous = chain[length - 2] if length > 1 else -1
            nearest, squared, tie = _nearest(packed, active, count, chain[length - 1], previous)
            if nearest == previous:
                break
            tied[length - 1] = tie
            chain[length] = nearest
            length += 1
        here, there = chain[length - 1], chain[length - 2]
        # What tied the earlier one may have been merged away since: look again.
        if not tie and tied[length - 2]:
            tie = _nearest(packed, active, count, there, here)[2]
        ties += tie
        gone, kept = min(here, there), max(here, there)
        first[merge], second[merge] = points[active[gone]], points[active[kept]]
        heights[merge] = np.sqrt(squared)
        _merge(packed, active, count, sizes, active[gone], active[kept])
        length -= 2
        for a in range(gone, count - 1):
            active[a] = active[a + 1]
        count -= 1
        for c in range(length):
            chain[c] -= chain[c] > gone
        if 2 * count <= width:
            compact(packed, active[:count], packed)
            sizes[:count], points[:count] = sizes[active[:count]], points[active[:count]]
            active[:count] = np.arange(count)
            width = count
    return ties

"""Ward's method on cosine distances, through one packed triangle of the distance matrix."""

import numpy as np

from sag_vicreg.arrays import Bools, Floats, Ints
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.merges import Merges, reciprocal_pairs
from sag_vicreg.structure.parallel import LONG, Workers, blocks

_ROWS = 128
# A round costs about a thirtieth of the chain that would finish the tree from the same clusters.
_ROUND_PAYS = 32
# Points from which on rounds pay at all.
SMALL = 512
# Dead places are scanned too, until they are a quarter of all.
_DENSE = 0.75


def cosine_triangle(unit: Floats, workers: Workers) -> Floats:
    """Return the squared cosine distances of unit vectors, packed."""
    packed = kernel("packed")
    n = len(unit)
    triangle = np.empty(n * (n - 1) // 2)

    def fill(rows: slice) -> None:
        packed.fill_cosine(unit[rows] @ unit[: rows.stop].T, unit, rows.start, triangle)

    workers.map(fill, blocks(n, _ROWS), bar="distances" if n > LONG else None)
    return triangle


def part_of_triangle(triangle: Floats, members: Ints) -> Floats:
    """Copy the entries of some points, ascending, out of a packed triangle."""
    part = np.empty(len(members) * (len(members) - 1) // 2)
    kernel("packed").compact(triangle, members, part)
    return part


def ward_of_triangle(triangle: Floats, workers: Workers, merges: Merges) -> None:
    """Cluster a packed triangle of squared dissimilarities, which is overwritten, into ``merges``.

    Rounds that merge all reciprocal nearest neighbours at once stream through the matrix on all
    threads. Where few pairs are reciprocal (long chains of ever nearer points) rounds do not pay,
    and the nearest-neighbour chain, whose cost is quadratic whatever the data, ends the tree.
    """
    chain = kernel("chain")
    n = (1 + round((1 + 8 * len(triangle)) ** 0.5)) // 2
    sizes, points, alive = np.ones(n), np.arange(n), np.ones(n, np.bool_)
    count = n
    while count > SMALL:
        smallest, second, nearest = _nearest(triangle, alive, workers)
        left, right = reciprocal_pairs(nearest)
        if len(left) * _ROUND_PAYS < count:
            break
        tied = second <= chain.tie_limit.py_func(smallest)
        merges.add(
            points[left],
            points[right],
            np.sqrt(smallest[left]),
            int(np.count_nonzero(tied[left] | tied[right])),
        )
        _merge(triangle, alive, sizes, left, right, smallest[left], workers)
        count -= len(left)
        if count <= _DENSE * len(alive):
            sizes, points, alive = _compact(triangle, sizes, points, alive)
    sizes, points, _ = _compact(triangle, sizes, points, alive)
    rest = count - 1
    first, other, heights = np.empty(rest, np.int64), np.empty(rest, np.int64), np.empty(rest)
    ties = chain.ward_chain(triangle, sizes, points, first, other, heights)
    merges.add(first, other, heights, ties)


def _nearest(triangle: Floats, alive: Bools, workers: Workers) -> tuple[Floats, Floats, Ints]:
    packed = kernel("packed")
    n = len(alive)
    found = (
        np.full((workers.count, n), np.inf),
        np.full((workers.count, n), np.inf),
        np.full((workers.count, n), -1),
    )

    def scan(worker: int) -> None:
        own = [part[worker] for part in found]
        for rows in blocks(n, _ROWS)[worker :: workers.count]:
            packed.find_nearest(triangle, alive, rows.start, rows.stop, *own)

    workers.map(scan, range(workers.count))
    nearest = np.empty(n), np.empty(n), np.empty(n, np.int64)
    packed.combine_nearest(*found, *nearest)
    return nearest


def _merge(
    triangle: Floats,
    alive: Bools,
    sizes: Floats,
    left: Ints,
    right: Ints,
    between: Floats,
    workers: Workers,
) -> None:
    """Unite ``left`` and ``right`` in the place of ``left``."""
    packed = kernel("packed")
    alive[right] = False
    partners = np.where(alive, -1, -2)
    partners[left] = right

    def update(rows: slice) -> None:
        packed.merge_rows(triangle, partners, left, right, between, sizes, rows.start, rows.stop)

    workers.map(update, blocks(len(alive), _ROWS))
    sizes[left] += sizes[right]


def _compact(
    triangle: Floats, sizes: Floats, points: Ints, alive: Bools
) -> tuple[Floats, Ints, Bools]:
    kernel("packed").compact(triangle, np.flatnonzero(alive), triangle)
    return sizes[alive], points[alive], alive[alive]

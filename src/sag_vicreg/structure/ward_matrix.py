"""Ward's method on cosine distances, through one packed triangle of the distance matrix."""

import numpy as np
import numpy.typing as npt

from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.merges import Merges
from sag_vicreg.structure.parallel import LONG, Workers, blocks

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ROWS = 128
# A round costs about a thirtieth of the chain that would finish the tree from the same clusters.
_ROUND_PAYS = 32
_SMALL = 512


def cosine_triangle(unit: Floats, workers: Workers) -> Floats:
    """Return the squared cosine distances of unit vectors, packed."""
    packed = kernel("packed")
    n = len(unit)
    triangle = np.empty(n * (n - 1) // 2)

    def fill(rows: slice) -> None:
        packed.fill_cosine(unit[rows] @ unit[: rows.stop].T, unit, rows.start, triangle)

    workers.map(fill, blocks(n, _ROWS), bar="distances" if n > LONG else None)
    return triangle


def ward_of_triangle(triangle: Floats, workers: Workers, merges: Merges) -> None:
    """Cluster a packed triangle of squared dissimilarities, which is overwritten, into ``merges``.

    Rounds that merge all reciprocal nearest neighbours at once stream through the matrix on all
    threads. Where few pairs are reciprocal (long chains of ever nearer points) rounds do not pay,
    and the nearest-neighbour chain, whose cost is quadratic whatever the data, ends the tree.
    """
    chain = kernel("chain")
    n = (1 + round((1 + 8 * len(triangle)) ** 0.5)) // 2
    sizes, points = np.ones(n), np.arange(n)
    while len(sizes) > _SMALL:
        smallest, second, nearest = _nearest(triangle, len(sizes), workers)
        here = np.arange(len(sizes))
        left = np.flatnonzero((nearest[nearest] == here) & (here < nearest))
        if len(left) * _ROUND_PAYS < len(sizes):
            break
        right = nearest[left]
        tied = second <= chain.tie_limit(smallest)
        merges.add(
            points[left],
            points[right],
            np.sqrt(smallest[left]),
            int(np.count_nonzero(tied[left] | tied[right])),
        )
        sizes, points = _merge(triangle, sizes, points, left, right, smallest[left], workers)
    rest = len(sizes) - 1
    first, other, heights = np.empty(rest, np.int64), np.empty(rest, np.int64), np.empty(rest)
    ties = chain.ward_chain(triangle, sizes, points, first, other, heights)
    merges.add(first, other, heights, ties)


def _nearest(triangle: Floats, n: int, workers: Workers) -> tuple[Floats, Floats, Ints]:
    packed = kernel("packed")
    found = (
        np.full((workers.count, n), np.inf),
        np.full((workers.count, n), np.inf),
        np.full((workers.count, n), -1),
    )

    def scan(worker: int) -> None:
        for rows in blocks(n, _ROWS)[worker :: workers.count]:
            packed.find_nearest(triangle, rows.start, rows.stop, *(part[worker] for part in found))

    workers.map(scan, range(workers.count))
    nearest = np.empty(n), np.empty(n), np.empty(n, np.int64)
    packed.combine_nearest(*found, *nearest)
    return nearest


def _merge(
    triangle: Floats,
    sizes: Floats,
    points: Ints,
    left: Ints,
    right: Ints,
    between: Floats,
    workers: Workers,
) -> tuple[Floats, Ints]:
    """Rewrite the triangle with ``left`` and ``right`` united; return the new sizes and points."""
    packed = kernel("packed")
    partner = np.full(len(sizes), -1)
    partner[left] = right
    joined = np.zeros(len(sizes))
    joined[left] = between
    # New clusters stand in the order of their left halves, so a new row only ever reads old rows
    # at or below its own place: the triangle can be rewritten where it is, batch by batch.
    kept = np.setdiff1d(np.arange(len(sizes)), right, assume_unique=True)
    partner, joined = partner[kept], joined[kept]
    united = np.flatnonzero(partner >= 0)

    def compute(rows: slice) -> npt.NDArray[np.float64]:
        block = np.empty((rows.stop - rows.start, rows.stop))
        packed.merge_rows(triangle, kept, partner, joined, sizes, united, rows.start, block)
        return block

    for batch in blocks(len(kept), _ROWS * workers.count):
        parts = [
            slice(batch.start + part.start, batch.start + part.stop)
            for part in blocks(batch.stop - batch.start, _ROWS)
        ]
        computed = workers.map(compute, parts)
        for part, block in zip(parts, computed, strict=True):
            packed.write_rows(block, part.start, triangle)
    grown = sizes[kept]
    grown[united] += sizes[right]
    return grown, points[kept]

"""The nearest items of every item, by brute force in blocks."""

import numpy as np
import numpy.typing as npt

from sag_vicreg.errors import InputError
from sag_vicreg.structure.parallel import LONG, Workers, blocks
from sag_vicreg.structure.points import near_one

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ROWS = 128


def nearest_items(points: Floats, k: int) -> Ints:
    """Return the ``k`` items nearest to each, the nearest first, shape (n, k).

    Points are unit vectors or vectors: squared distances rank as those of every geometry do.
    """
    n = len(points)
    if not 1 <= k < n:
        raise InputError(f"k is {k} but each of {n} rows has {n - 1} neighbours: lower k")
    points = near_one(points)
    points = points - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", points, points)
    found = np.empty((n, k), np.int64)

    def search(rows: slice) -> None:
        squared = norms[rows, None] + norms - 2.0 * (points[rows] @ points.T)
        squared[np.arange(len(squared)), np.arange(rows.start, rows.stop)] = np.inf
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        ranks = np.argsort(np.take_along_axis(squared, near, axis=1), axis=1, kind="stable")
        found[rows] = np.take_along_axis(near, ranks, axis=1)

    with Workers(n) as workers:
        workers.map(search, blocks(n, _ROWS), bar="neighbours" if n > LONG else None)
    return found


def is_among(some: Ints, others: Ints) -> npt.NDArray[np.bool_]:
    """Say of each of an item's ``some``, (n, k), whether it is one of its ``others``, (n, l)."""
    n = len(some)
    own = np.arange(n)[:, None] * n
    return np.isin(some + own, others + own)

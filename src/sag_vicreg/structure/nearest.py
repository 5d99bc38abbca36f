"""The nearest items of every item, by brute force in blocks."""

import numpy as np

from sag_vicreg.arrays import Bools, Floats, Ints
from sag_vicreg.errors import InputError
from sag_vicreg.structure.parallel import LONG, Workers, blocks
from sag_vicreg.structure.points import near_one

_ROWS = 128


class SquaredDistances:
    """Squared distances of points, for some rows at a time.

    Points are unit vectors or vectors: squares rank as the distances of every geometry do.
    """

    def __init__(self, points: Floats) -> None:
        points = near_one(points)
        self.points = points - points.mean(axis=0)
        self.norms: Floats = np.einsum("ij,ij->i", self.points, self.points)

    def rows(self, rows: slice) -> Floats:
        """Return those of some rows to all."""
        dots: Floats = self.points[rows] @ self.points.T
        return self.norms[rows, None] + self.norms - 2.0 * dots


def nearest_items(points: Floats, k: int) -> Ints:
    """Return the ``k`` items nearest to each, the nearest first, shape (n, k)."""
    n = len(points)
    if not 1 <= k < n:
        raise InputError(f"k is {k} but each of {n} rows has {n - 1} neighbours: lower k")
    distances = SquaredDistances(points)
    found = np.empty((n, k), np.int64)

    def search(rows: slice) -> None:
        squared = distances.rows(rows)
        squared[np.arange(len(squared)), np.arange(rows.start, rows.stop)] = np.inf
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        ranks = np.argsort(np.take_along_axis(squared, near, axis=1), axis=1, kind="stable")
        found[rows] = np.take_along_axis(near, ranks, axis=1)

    with Workers(n) as workers:
        workers.map(search, blocks(n, _ROWS), bar="neighbours" if n > LONG else None)
    return found


def is_among(some: Ints, others: Ints) -> Bools:
    """Say of each of an item's ``some``, (n, k), whether it is one of its ``others``, (n, l)."""
    n = len(some)
    own = np.arange(n)[:, None] * n
    return np.isin(some + own, others + own)

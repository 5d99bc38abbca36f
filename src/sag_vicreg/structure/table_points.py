"""Rows of a table as points of a geometry, block by block."""

from collections.abc import Iterator

import numpy as np

from sag_vicreg.arrays import Array, Floats, Ints
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.errors import InputError
from sag_vicreg.structure.parallel import blocks

# Rows that are points at the same time.
ROWS = 4_096


def points_of_piece(
    piece: Piece, table: EmbeddingTable, geometry: str, *, most: int = ROWS
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the points of a piece, ``most`` of them at a time, each with its row's number."""
    for first, vectors in table.blocks(piece):
        for part in blocks(len(vectors), most):
            rows = np.arange(first + part.start, first + part.stop)
            yield rows, table_points(vectors[part], geometry, table, rows)


def table_points(
    vectors: Array, geometry: str, table: EmbeddingTable, rows: Ints | None = None
) -> Floats:
    """Return vectors as they are, or at length 1.

    A zero vector is refused by its number in ``rows``; without these it stays one.
    """
    x = vectors.astype(np.float64)
    if geometry == "euclidean":
        return x
    # By the largest entry first: squares of very large or small entries leave float64's range.
    largest = np.abs(x).max(axis=1)
    if rows is not None and not largest.all():
        raise InputError(
            f"{table.name}: row {table.place_of(int(rows[np.argmin(largest)]))} is a zero vector, "
            "which has no direction; remove it or use geometry 'euclidean'"
        )
    x /= np.where(largest > 0, largest, 1.0)[:, None]
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
    return x

"""The nearest items of anchors among all rows of a table: exact, in one pass.

Products in float32 propose, as everywhere; whatever may be among the nearest within rounding is
measured again from the difference of the vectors. So the result does not depend on how the table is
cut, and equal distances go to the lower hash of the id.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sag_vicreg.arrays import Floats, Floats32, Ints
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.id_hashes import Hashes
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.artifacts.table_samples import gather
from sag_vicreg.passes import Passes
from sag_vicreg.structure.anchors import Chosen
from sag_vicreg.structure.parallel import Workers, blocks
from sag_vicreg.structure.table_points import points_of_piece, table_points

NEIGHBORS = 10
# Rows whose distances to all anchors are computed at a time.
_ROWS = 1_024
# Numbers of points, and of differences between points, that are made at a time.
_NUMBERS = 250_000


@dataclass(frozen=True)
class Nearest:
    """The items nearest to each anchor, by squared distance and hash of id, (anchors, k)."""

    squared: Floats
    keys: Hashes

    @classmethod
    def none(cls, anchors: int, k: int) -> "Nearest":
        """Begin: nothing was seen yet."""
        return cls(np.full((anchors, k), np.inf), np.zeros((anchors, k), np.uint64))

    def among(self, others: "Nearest") -> "Nearest":
        """Return the nearest of these and others; equal distances go to the lower hash."""
        squared = np.concatenate([self.squared, others.squared], axis=1)
        keys = np.concatenate([self.keys, others.keys], axis=1)
        first = np.lexsort((keys, squared), axis=1)[:, : self.keys.shape[1]]
        return Nearest(
            np.take_along_axis(squared, first, axis=1), np.take_along_axis(keys, first, axis=1)
        )


@dataclass(frozen=True, eq=False)
class _Anchors:
    """The anchors as points, and what puts every row of the table among them."""

    points: Floats
    rows: Ints
    centre: Floats
    scale: float
    geometry: str

    @classmethod
    def of(cls, table: EmbeddingTable, rows: Ints, passes: Passes, geometry: str) -> "_Anchors":
        points = table_points(gather(table, rows, passes), geometry, table, rows)
        centre, scale = np.zeros(points.shape[1]), 1.0
        if geometry == "euclidean":
            # Distances see no translation, and float32 has most digits around the origin.
            centre = points.mean(axis=0)
            largest = max(np.abs(points - centre).max(), np.finfo(float).tiny)
            scale = 2.0 ** np.ceil(np.log2(largest))
        return cls((points - centre) / scale, rows, centre, scale, geometry)

    @cached_property
    def points32(self) -> Floats32:
        """The points in float32."""
        return self.points.astype(np.float32)


def neighbors_shared(
    tables: tuple[EmbeddingTable, EmbeddingTable],
    chosen: tuple[Chosen, Chosen],
    passes: Passes,
    *,
    geometry: str,
    by_position: bool,
    k: int = NEIGHBORS,
) -> tuple[float, float]:
    """Return the mean share of anchors' k nearest items that both tables name, and its error.

    The anchors are those of the first set, their neighbours are looked for among all rows.
    """
    one, other = (
        nearest_of_anchors(
            table,
            of.rows[of.anchors[0]],
            passes,
            geometry=geometry,
            by_position=by_position,
            k=k,
        )
        for table, of in zip(tables, chosen, strict=True)
    )
    shares = (one.keys[:, :, None] == other.keys[:, None, :]).any(axis=2).mean(axis=1)
    return float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(len(shares)))


def nearest_of_anchors(
    table: EmbeddingTable,
    rows: Ints,
    passes: Passes,
    *,
    geometry: str,
    by_position: bool = False,
    k: int = NEIGHBORS,
) -> Nearest:
    """Find the ``k`` items nearest to each of some rows, themselves left out."""
    anchors = _Anchors.of(table, rows, passes, geometry)
    task = partial(_search, table=table, anchors=anchors, k=k, by_position=by_position)
    found = Nearest.none(len(rows), k)
    # One thread of BLAS for each of ours.
    with Workers(0):
        for part in passes.map(task, table.pieces, bar=f"neighbours in {table.name}"):
            found = found.among(part)
    return found


def _search(
    piece: Piece, *, table: EmbeddingTable, anchors: _Anchors, k: int, by_position: bool
) -> Nearest:
    """Find the nearest among the rows of one piece."""
    found = Nearest.none(len(anchors.rows), k)
    (keys,) = table.hashes(piece, by_position=by_position)
    most = min(_ROWS, max(1, _NUMBERS // table.dimensions))
    for rows, points in points_of_piece(piece, table, anchors.geometry, most=most):
        placed = (points - anchors.centre) / anchors.scale
        found = _nearer(found, anchors, placed, rows, keys[rows - piece.start])
    return found


def _nearer(found: Nearest, anchors: _Anchors, points: Floats, rows: Ints, keys: Hashes) -> Nearest:
    """Put some rows among the nearest found so far."""
    norms = np.einsum("ij,ij->i", anchors.points, anchors.points)[:, None] + np.einsum(
        "ij,ij->i", points, points
    )
    # The worst case of a product in float32, in any order of summation.
    rounding = (points.shape[1] + 8) * 2.0**-23 * norms.astype(np.float32)
    squared = norms.astype(np.float32) - 2 * (anchors.points32 @ points.astype(np.float32).T)
    own = np.flatnonzero((anchors.rows >= rows[0]) & (anchors.rows <= rows[-1]))
    squared[own, anchors.rows[own] - rows[0]] = np.inf
    k = found.keys.shape[1]
    limit = found.squared[:, -1]
    if np.isinf(limit).any() and len(rows) > k:
        limit = np.minimum(limit, np.partition(squared + rounding, k, axis=1)[:, k])
    anchor, row = np.nonzero((squared - rounding <= limit[:, None]) & np.isfinite(squared))
    if not len(anchor):
        return found
    # As many columns as the anchor with most candidates has; the rest stay at infinity.
    place = np.arange(len(anchor)) - np.searchsorted(anchor, anchor)
    near = Nearest.none(len(anchors.rows), int(place.max()) + 1)
    for some in blocks(len(anchor), max(1, _NUMBERS // points.shape[1])):
        apart = anchors.points[anchor[some]] - points[row[some]]
        near.squared[anchor[some], place[some]] = np.einsum("ij,ij->i", apart, apart)
    near.keys[anchor, place] = keys[row]
    return found.among(near)

"""A set in memory, read piece by piece as a table in files is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from sag_vicreg.artifacts.embedding_tables import BLOCK_BYTES, EmbeddingTable
from sag_vicreg.artifacts.embeddings import Embeddings
from sag_vicreg.artifacts.table_files import Piece

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldTable(EmbeddingTable):
    """Embeddings as a pass sees them: pieces, each with its vectors and its ids."""

    embeddings: Embeddings

    def blocks(
        self, piece: Piece, *, finite: bool = True
    ) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield the vectors of a piece with the number of the first row; nothing is checked."""
        yield piece.start, self.embeddings.vectors[piece.start : piece.stop]

    def ids(self, piece: Piece) -> "Iterator[pa.Array]":
        """Yield the ids of a piece."""
        import pyarrow as pa

        assert self.embeddings.ids is not None
        yield pa.array(self.embeddings.ids[piece.start : piece.stop].tolist())


def as_table(source: Embeddings | EmbeddingTable) -> EmbeddingTable:
    """Return what passes run over; a piece of a set has as many rows as a table reads at a time."""
    if not isinstance(source, Embeddings):
        return source
    vectors = source.vectors
    rows, dimensions = vectors.shape
    step = max(1, BLOCK_BYTES // (dimensions * vectors.itemsize))
    starts = range(0, max(1, rows), step)
    return HeldTable(
        name="",
        rows=rows,
        dimensions=dimensions,
        pieces=tuple(Piece("", 0, start, min(step, rows - start)) for start in starts),
        id_column=None if source.ids is None else "id",
        label_column=None,
        vector_columns=(),
        system=None,
        dtype=vectors.dtype,
        embeddings=source,
    )

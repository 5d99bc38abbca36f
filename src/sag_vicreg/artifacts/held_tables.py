"""A set in memory, read piece by piece as a table in files is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.embedding_tables import BLOCK_BYTES, EmbeddingTable
from sag_vicreg.artifacts.embeddings import Embeddings
from sag_vicreg.artifacts.table_files import Piece

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class HeldTable:
    """Embeddings as a pass sees them: pieces, each with its vectors and its ids."""

    embeddings: Embeddings

    @property
    def rows(self) -> int:
        """Number of vectors."""
        return len(self.embeddings)

    @property
    def dimensions(self) -> int:
        """Of each vector."""
        return int(self.embeddings.vectors.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """How numbers are stored."""
        return self.embeddings.vectors.dtype

    @property
    def has_ids(self) -> bool:
        """Whether rows have ids."""
        return self.embeddings.ids is not None

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """As many rows each as a table reads at a time."""
        step = max(1, BLOCK_BYTES // (self.dimensions * self.dtype.itemsize))
        starts = enumerate(range(0, max(1, self.rows), step))
        return tuple(
            Piece(number, "", number, start, min(step, self.rows - start))
            for number, start in starts
        )

    def blocks(
        self, piece: Piece, *, finite: bool = True
    ) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield the vectors of a piece with the number of the first row; nothing is checked."""
        yield piece.start, self.embeddings.vectors[piece.start : piece.start + piece.rows]

    def ids(self, piece: Piece) -> "Iterator[pa.Array]":
        """Yield the ids of a piece."""
        import pyarrow as pa

        assert self.embeddings.ids is not None
        yield pa.array(self.embeddings.ids[piece.start : piece.start + piece.rows].tolist())


def as_table(source: Embeddings | EmbeddingTable) -> HeldTable | EmbeddingTable:
    """Return what passes run over."""
    return HeldTable(source) if isinstance(source, Embeddings) else source

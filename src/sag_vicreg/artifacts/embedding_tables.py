"""Tables of embeddings that are read piece by piece and never held, in files of any size."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.arrow import (
    candidates,
    held_as,
    is_list_of_numbers,
    is_number,
    with_others,
)
from sag_vicreg.artifacts.columns import IDS, LABELS, ColumnNames
from sag_vicreg.artifacts.embeddings import Embeddings, as_floats
from sag_vicreg.artifacts.id_hashes import Hashes, hash_parts, hash_positions
from sag_vicreg.artifacts.table_files import (
    SUFFIXES,
    Piece,
    TableParts,
    find_files,
    one_line,
    open_parts,
)
from sag_vicreg.artifacts.tables import (
    as_text,
    find_columns,
    label_array,
    text_array,
    vectors_of,
)
from sag_vicreg.door import check_memory
from sag_vicreg.errors import InputError
from sag_vicreg.machine import release_memory, resident_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem

# Rows looked at to tell which columns are the vectors.
_FIRST_ROWS = 1_000
# Bytes of vectors that are read at a time, and how many copies of them exist for a moment: encoded,
# decoded, as an array, what is made and what is kept of it.
BLOCK_BYTES, BLOCK_COPIES = 4 << 20, 8
_ID_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class EmbeddingTable:
    """Vectors of many files, and where each row is. Made by :func:`open_table`.

    Attributes
    ----------
    name : str
        What the user called it.
    rows, dimensions : int
        Its shape.
    pieces : tuple of Piece
        What can be read by itself, in the order of files and rows.
    id_column : str or None
        None where rows are told apart by their position.
    label_column : str or None
        None where not every file has labels; only :meth:`labels` reads them.
    """

    name: str
    rows: int
    dimensions: int
    pieces: tuple[Piece, ...]
    id_column: str | None
    label_column: str | None
    vector_columns: tuple[str, ...]
    system: "FileSystem | None"
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.rows

    @property
    def has_ids(self) -> bool:
        """Whether rows have ids."""
        return self.id_column is not None

    @property
    def row_bytes(self) -> int:
        """Memory of one vector as it is stored."""
        return self.dimensions * self.dtype.itemsize

    def hashes(
        self, piece: Piece, *, by_position: bool = False, seeds: tuple[int, ...] = (0,)
    ) -> tuple[Hashes, ...]:
        """Hash the ids of a piece, or its row numbers, by each seed; the vectors are not read."""
        if by_position or self.id_column is None:
            with one_line(piece.path):  # the number of rows is only said so far
                check_memory(8 * piece.rows * (len(seeds) + 1))
            return tuple(hash_positions(piece.start, piece.stop, seed=seed) for seed in seeds)
        return hash_parts(self.ids(piece), seeds)

    def ids(self, piece: Piece) -> "Iterator[pa.Array]":
        """Read the ids of a piece as text, some at a time."""
        if self.id_column is None:
            raise InputError(f"{self.name} has no ids: name their column by --id-column")
        with one_line(piece.path):
            for _, table in self._read(piece, (self.id_column,), _ID_ROWS):
                yield as_text(table, self.id_column).combine_chunks()

    def labels(self, piece: Piece) -> Iterator[npt.NDArray[Any]]:
        """Read the labels of a piece, numbers or texts, some at a time."""
        assert self.label_column is not None
        with one_line(piece.path):
            for _, table in self._read(piece, (self.label_column,), _ID_ROWS):
                yield label_array(table, self.label_column)

    def blocks(
        self, piece: Piece, *, finite: bool = True
    ) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Read the vectors of a piece, some at a time, each with the number of the first row.

        Unless they must be ``finite``, NaN and infinity are handed on.
        """
        rows = max(1, BLOCK_BYTES // max(1, self.row_bytes))
        with one_line(piece.path):
            for start, table in self._read(piece, self.vector_columns, rows):
                vectors = vectors_of(
                    table, list(map(table.column_names.index, self.vector_columns))
                )
                _check_dimensions(vectors.shape[1], self.dimensions, self.pieces[0].path)
                if finite and not (sound := np.isfinite(vectors).all(axis=1)).all():
                    row = start - piece.start + int(np.argmin(sound))
                    raise InputError(
                        f"row {row} of part {piece.part} holds NaN or infinity; remove or repair it"
                    )
                yield start, vectors

    def vectors(self, piece: Piece) -> Iterator[npt.NDArray[Any]]:
        """Read the vectors of a piece, some at a time."""
        return (vectors for _, vectors in self.blocks(piece))

    def id_of(self, row: int) -> str:
        """Return the id of one row, for a message."""
        if self.id_column is None:
            return str(row)
        piece = self._piece_of(row)
        return str(next(islice(chain.from_iterable(self.ids(piece)), row - piece.start, None)))

    def place_of(self, row: int) -> str:
        """Say where a row is: its number in its file, and which file that is."""
        path = self._piece_of(row).path
        first = next(piece.start for piece in self.pieces if piece.path == path)
        name = PurePosixPath(path).name
        alike = {piece.path for piece in self.pieces if PurePosixPath(piece.path).name == name}
        return f"{row - first:,} of {name if len(alike) == 1 else path}"

    def _piece_of(self, row: int) -> Piece:
        return next(piece for piece in self.pieces if piece.start <= row < piece.stop)

    def whole(self) -> Embeddings:
        """Read everything: for a table that is small after all."""
        check_memory(2 * self.rows * self.row_bytes)
        every = chain.from_iterable(map(self.vectors, self.pieces))
        vectors = as_floats(np.concatenate(list(every)))
        if self.id_column is None:
            return Embeddings(vectors)
        texts = [
            text for piece in self.pieces for ids in self.ids(piece) for text in ids.to_pylist()
        ]
        return Embeddings(vectors, text_array(texts, self.id_column))

    def _read(
        self, piece: Piece, columns: tuple[str, ...], rows: int
    ) -> "Iterator[tuple[int, pa.Table]]":
        import pyarrow as pa

        start = piece.start
        with open_parts(self.system, piece.path) as file:
            for batch in file.read(piece.part, columns, rows):
                batch.validate(full=True)
                yield start, pa.Table.from_batches([batch])
                start += batch.num_rows
        pa.default_memory_pool().release_unused()
        if start != piece.stop:
            raise InputError(
                f"{piece.rows:,} rows became {start - piece.start:,} while it was read: keep the "
                "files as they are until the command ends"
            )


def room_beside_reading(memory: int, threads: int) -> int:
    """Return what a stated memory leaves beside what the process holds and what it reads."""
    release_memory()
    return memory - resident_bytes() - (threads + 2) * BLOCK_COPIES * BLOCK_BYTES


def open_table(where: Path | str, *, names: ColumnNames | None = None) -> EmbeddingTable:
    """Open files that are read piece by piece; only their headers are read now.

    Parameters
    ----------
    where
        A ``.parquet``, ``.arrow``, ``.feather`` or ``.npy`` file, a folder of them, a pattern such
        as ``"part-*.parquet"``, or an address such as ``"s3://bucket/folder"``.
    names
        What its columns are called, where that is not plain.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/part-0.npy", np.eye(3, 4))
    ...     np.save(f"{folder}/part-1.npy", np.eye(2, 4))
    ...     table = open_table(folder)
    >>> table.rows, table.dimensions
    (5, 4)
    """
    name, names = str(where), names or ColumnNames()
    if names.text_column:
        raise InputError(
            f"{name}: --text-column is for single files that are held in memory: leave it out"
        )
    system, paths = find_files(name)
    suffixes = sorted({PurePosixPath(path).suffix.lower() for path in paths})
    if len(suffixes) > 1:
        raise InputError(
            f"{name}: there are {' and '.join(suffixes)} files: name those of one kind, as in "
            f"'*{suffixes[0]}'"
        )
    if suffixes[0] not in SUFFIXES:
        raise InputError(
            f"cannot read {name} by pieces: the name must end in {', '.join(SUFFIXES)}"
        )
    if suffixes == [".npy"] and system.type_name != "local":
        raise InputError(
            f"{name}: an array is mapped from a disk of this machine: copy the .npy files to one, "
            "or store tables as .parquet"
        )
    pieces = _pieces(system, paths)
    if not pieces:
        raise InputError(f"{name}: there are no rows")
    first = pieces[0]
    with one_line(first.path), open_parts(system, first.path) as file:
        identity, label, vectors, sample = _columns(file, first.part, names)
        leading = file.schema()
    dtype = sample.dtype
    for path in paths:
        with one_line(path), open_parts(system, path) as file:
            schema = file.schema()
            _check_columns(schema, identity, vectors, sample.shape[1], leading, first.path)
            # Files may hold their numbers in several ways: what is read must hold them all.
            dtype = np.result_type(dtype, *(held_as(schema.field(each).type) for each in vectors))
        label = label if label in schema.names else None
    return EmbeddingTable(
        name=name,
        rows=pieces[-1].stop,
        dimensions=sample.shape[1],
        pieces=tuple(pieces),
        id_column=identity,
        label_column=label,
        vector_columns=vectors,
        system=system,
        dtype=dtype,
    )


def _pieces(system: "FileSystem", paths: list[str]) -> list[Piece]:
    pieces: list[Piece] = []
    start = 0
    for path in paths:
        with one_line(path), open_parts(system, path) as file:
            for part, rows in enumerate(file.rows()):
                if rows < 0:
                    raise ValueError(f"part {part} has {rows} rows")
                if rows:
                    pieces.append(Piece(path, part, start, rows))
                    start += rows
    return pieces


def _columns(
    file: TableParts, part: int, names: ColumnNames
) -> tuple[str | None, str | None, tuple[str, ...], npt.NDArray[Any]]:
    """Return the columns of ids, labels and vectors, and some vectors, from the first rows."""
    import pyarrow as pa

    schema = file.schema()
    if len(set(schema.names)) < len(schema.names):
        raise InputError("several columns have one name: give each its own")
    first = list(islice(file.read(part, candidates(schema, names), _FIRST_ROWS), 1))
    table = with_others(pa.Table.from_batches(first), schema)
    table.validate(full=True)
    identity, label, _, places = find_columns(table, names)
    sample = vectors_of(table, places)
    if sample.shape[1] == 0:
        raise InputError("embeddings have no dimensions: every vector is empty")
    return identity, label, tuple(table.column_names[place] for place in places), sample


def _check_columns(
    schema: "pa.Schema",
    identity: str | None,
    vectors: tuple[str, ...],
    d: int,
    leading: "pa.Schema",
    first: str,
) -> None:
    """Refuse a file that does not have the columns of the first, or has more that could count."""
    import pyarrow as pa

    for column in (*vectors, *([] if identity is None else [identity])):
        if column not in schema.names:
            raise InputError(f"there is no column '{column}', which {first} has")
    for column in schema:
        counts = (
            column.name in IDS or is_number(column.type) or is_list_of_numbers(column.type)
        ) and column.name not in LABELS
        if counts and column.name not in leading.names:
            raise InputError(f"there is a column '{column.name}', which {first} does not have")
    kind = schema.field(vectors[0]).type
    if pa.types.is_fixed_size_list(kind):
        _check_dimensions(kind.list_size, d, first)


def _check_dimensions(found: int, expected: int, first: str) -> None:
    if found != expected:
        raise InputError(
            f"its vectors have {found} dimensions and those of {first} have {expected}: keep the "
            "embeddings of one model in one folder"
        )

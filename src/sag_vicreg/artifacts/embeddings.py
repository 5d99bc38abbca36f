"""Embedding files: vectors with ids, labels and texts, read from many formats, written in one."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Array
from sag_vicreg.artifacts.arrays import Columns, read_npy, read_npz, read_safetensors
from sag_vicreg.artifacts.arrow import csv_table, ipc_table, json_lines_table, parquet_table
from sag_vicreg.artifacts.atomic import atomic_path, check_writable
from sag_vicreg.artifacts.columns import ColumnNames
from sag_vicreg.artifacts.contents import Contents, contents_of
from sag_vicreg.artifacts.frames import dataset_table, frame_table, is_dataset_folder, is_frame
from sag_vicreg.artifacts.tables import from_table
from sag_vicreg.artifacts.texts import Texts, as_texts
from sag_vicreg.door import Kind, check_memory, open_file
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


EMBEDDINGS = Kind(
    "a readable file of embeddings",
    "it is truncated, corrupt or of another format; write it again",
    most_bytes=None,
)
_ARRAYS: dict[str, Callable[[BinaryIO, ColumnNames], Columns]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".safetensors": read_safetensors,
}
_TABLES: "dict[str, Callable[[BinaryIO, ColumnNames], pa.Table]]" = {
    ".csv": csv_table,
    ".parquet": parquet_table,
    ".feather": ipc_table,
    ".arrow": ipc_table,
    ".jsonl": json_lines_table,
}
CHECKSUM = b"sha256"
"""Key of a file's metadata: the digest of all its values, which a reader compares."""
SUFFIXES = (*_ARRAYS, *_TABLES)
"""How the name of a file of embeddings may end."""


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One vector per row, and what is known of each row.

    Parameters
    ----------
    vectors
        Shape (n, d), any float dtype.
    ids
        Shape (n,), strings; two sets that have ids are compared id by id.
    labels
        Shape (n,), strings (class names) or int64 (class indices).
    texts
        Shape (n,), strings as objects: what the rows are, for people. They are on one line each,
        cut after 400 characters, and never written or compared.
    stored
        As what the file holds the numbers, where they are whole and were taken as floats.
    """

    vectors: npt.NDArray[Any]
    ids: npt.NDArray[np.str_] | None = None
    labels: npt.NDArray[Any] | None = None
    texts: Texts | None = None
    stored: np.dtype[Any] | None = None

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2:
            raise InputError(
                f"embeddings have shape {self.vectors.shape}: "
                "expected two axes, rows and dimensions"
            )
        if self.vectors.shape[1] == 0:
            raise InputError("embeddings have no dimensions: every vector is empty")
        if self.vectors.dtype.kind != "f":
            raise InputError(
                f"embeddings have dtype {self.vectors.dtype}: expected a float dtype, convert first"
            )
        for name, column in (("ids", self.ids), ("labels", self.labels), ("texts", self.texts)):
            if column is not None and column.shape != (len(self),):
                raise InputError(
                    f"{name} have shape {column.shape} but there are {len(self)} rows of vectors"
                )

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, rows: npt.NDArray[np.intp] | slice) -> "Embeddings":
        """Return the given rows, in the given order."""
        return Embeddings(
            self.vectors[rows],
            None if self.ids is None else self.ids[rows],
            None if self.labels is None else self.labels[rows],
            None if self.texts is None else self.texts[rows],
            self.stored,
        )


def read_embeddings(
    source: Path | str | Any,
    *,
    vector_columns: str | Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    text_column: str | None = None,
) -> Embeddings:
    """Read a file of embeddings, a saved dataset or a data frame; nothing is unpickled.

    The files: ``.npy``, ``.npz``, ``.safetensors``, ``.csv``, ``.jsonl``, ``.parquet``,
    ``.feather`` and ``.arrow``. ``.npy`` holds the vectors alone. ``.npz`` and ``.safetensors``
    hold them as ``vectors`` (or as their only array of two axes). Tables hold them in one list
    column, or in one column per dimension, numbered alike from 0 or 1 without a gap (``dim_0``,
    ``dim_1``, ...). A table in which any other column could be taken for a dimension is refused
    until it is said which are.

    Parameters
    ----------
    source
        The path of a file or of a folder that ``save_to_disk`` of Hugging Face ``datasets`` wrote;
        or a frame of pandas, Polars or Arrow.
    vector_columns
        Columns of a table that are the vectors: names, ranges such as ``dim_0:dim_127`` and
        patterns such as ``dim_*``, as a sequence or separated by commas. Of an archive, the name
        of the array.
    id_column, label_column
        Columns or arrays that hold ids and labels; by default those called ``id`` or ``ids``,
        ``label`` or ``labels``, where there are any.
    text_column
        The column or array that says in words what each row is; None for none. It is no dimension,
        and is shown in place of pictures.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"id": ["a", "b"], "embedding": [[0.5, 1.0], [2.0, 0.25]]})
    >>> read_embeddings(frame).vectors.shape
    (2, 2)
    """
    names = ColumnNames(vector_columns, id_column, label_column, text_column)
    if is_frame(source):
        return _embeddings(*from_table(frame_table(source), names))
    path = Path(source)
    if is_dataset_folder(path):
        try:
            return _embeddings(*from_table(dataset_table(path, names), names))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"cannot read {path}: the name must end in {', '.join(SUFFIXES)}")
    with open_file(path, EMBEDDINGS) as file:
        if suffix in _ARRAYS:
            return _embeddings(*_ARRAYS[suffix](file, names))
        table = _TABLES[suffix](file, names)
        found = _embeddings(*from_table(table, names))
        if replace(names, text_column=None) == ColumnNames():
            _check_sum(found, table.schema.metadata or {})
        return found


def _embeddings(
    vectors: Array, ids: Array | None, labels: Array | None, texts: Array | None = None
) -> Embeddings:
    if vectors.ndim > 0 and len(vectors) == 0:
        raise InputError("there are no rows")
    return Embeddings(
        as_floats(vectors),
        None if ids is None else _as_text(ids, "ids"),
        None if labels is None else _as_labels(labels),
        texts if texts is None or texts.dtype == np.object_ else as_texts(texts),
        None if vectors.dtype.kind == "f" else vectors.dtype,
    )


def as_floats(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Take whole numbers (features counted, images as bytes) as floats; leave all else alone."""
    if vectors.dtype.kind not in "iub":
        return vectors
    check_memory(8 * vectors.size)  # up to eight times what the file holds
    return vectors.astype(np.float64)


def _as_text(texts: Array, name: str) -> npt.NDArray[np.str_]:
    if texts.dtype.kind not in "USiufb":
        raise InputError(f"{name} have dtype {texts.dtype}: expected text or numbers")
    return np.char.decode(texts, "utf-8") if texts.dtype.kind == "S" else texts.astype(np.str_)


def _as_labels(labels: Array) -> Array:
    # Past 63 bits a number is a name: no class tree has so many places.
    fits = labels.dtype.kind in "iu" and (labels <= np.iinfo(np.int64).max).all()
    return labels.astype(np.int64) if fits else _as_text(labels, "labels")


def check_embeddings_path(path: Path | str) -> None:
    """Refuse a path :func:`write_embeddings` could not write to."""
    if Path(path).suffix.lower() != ".parquet":
        raise InputError(f"cannot write embeddings to {path}: the name must end in .parquet")
    check_writable(path)


def write_embeddings(
    path: Path | str,
    embeddings: Embeddings,
    *,
    metadata: Mapping[str, str] | None = None,
    half_precision: bool = False,
) -> None:
    """Write a parquet table: ``id`` and ``label`` where known, and ``vector`` in float32.

    Parameters
    ----------
    path
        The file, ending in ``.parquet``.
    embeddings
        What to write.
    metadata
        Kept with the file; :func:`read_metadata` reads it back. What the rows are stands there
        too: :meth:`Contents.to_metadata`.
    half_precision
        Write float16 and compress it well, for files that are published.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_embeddings_path(path)
    vectors: npt.NDArray[Any] = embeddings.vectors.astype(np.float32)
    options: dict[str, Any] = {}
    if half_precision:
        vectors = as_half(vectors)
        options = {
            "compression": "zstd",
            "compression_level": 15,
            "use_dictionary": ["id", "label"],
            "column_encoding": {"vector.list.element": "BYTE_STREAM_SPLIT"},
        }
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1))
    rows = _embeddings(vectors, embeddings.ids, embeddings.labels)
    known = {"id": rows.ids, "label": rows.labels}
    columns = {name: pa.array(each.tolist()) for name, each in known.items() if each is not None}
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    kept = dict(metadata or {})
    noted = {key.encode(): value.encode() for key, value in kept.items()}
    table = pa.table(columns, metadata=noted | {CHECKSUM: _checksum(rows, kept)})
    # Through a file of our own: Arrow takes no name that is not UTF-8.
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        pq.write_table(table, file, write_page_checksum=True, **options)


def as_half(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """Round to float16; refused where a number is too large for it."""
    with np.errstate(over="ignore"):
        halved = vectors.astype(np.float16)
    if not np.isfinite(halved).all():
        raise InputError(
            "embeddings hold numbers that are not finite or beyond 65,504, the largest of float16"
        )
    return halved


def read_metadata(path: Path | str) -> dict[str, str]:
    """Read what :func:`write_embeddings` kept with a parquet file; empty where it kept nothing."""
    import pyarrow.parquet as pq

    with open_file(path, EMBEDDINGS) as file:
        return _texts(pq.read_schema(file).metadata)


def read_contents(path: Path | str) -> Contents | None:
    """Read what the rows of a file are; None where it does not say, or is not parquet."""
    if Path(path).suffix.lower() != ".parquet":
        return None
    import pyarrow.parquet as pq

    with open_file(path, EMBEDDINGS) as file:
        return contents_of(_texts(pq.read_schema(file).metadata))


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    return {
        key.decode(): value.decode()
        for key, value in (metadata or {}).items()
        if key != CHECKSUM and not key.startswith(b"ARROW:")
    }


def _checksum(embeddings: Embeddings, metadata: Mapping[str, str]) -> bytes:
    """Return a digest of every value of a file: a flipped bit anywhere changes it."""
    digest = hashlib.sha256(str(embeddings.vectors.shape).encode())
    digest.update(np.ascontiguousarray(embeddings.vectors).data)
    for column in (embeddings.ids, embeddings.labels):
        digest.update(b"none" if column is None else "\0".join(map(str, column.tolist())).encode())
    digest.update(repr(sorted(metadata.items())).encode())
    return f"{len(embeddings)}:{digest.hexdigest()}".encode()


def _check_sum(found: Embeddings, metadata: Mapping[bytes, bytes]) -> None:
    """Refuse values that are not those that were written.

    Another number of rows is no damage, which would leave it: somebody chose some of the rows and
    kept the notes.
    """
    written = metadata.get(CHECKSUM)
    if written is None or written.split(b":")[0] != str(len(found)).encode():
        return
    if written != _checksum(found, _texts(metadata)):
        raise InputError(
            f"its values are not those that `sag-vicreg` wrote: {EMBEDDINGS.remedy}; if it was "
            f"changed on purpose, write it without the note '{CHECKSUM.decode()}' in its metadata"
        )

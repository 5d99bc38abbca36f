"""Embedding files: vectors with their ids and labels, read from five formats, aligned by id."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.atomic import atomic_path, check_writable
from sag_vicreg.artifacts.readers import DAMAGED, READERS
from sag_vicreg.errors import InputError


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One vector a row, and what is known of each row.

    Parameters
    ----------
    vectors
        Shape (n, d), any float dtype.
    ids
        Shape (n,), strings; two sets that have ids are compared id by id.
    labels
        Shape (n,), strings (class names) or int64 (class indices).
    """

    vectors: npt.NDArray[Any]
    ids: npt.NDArray[np.str_] | None = None
    labels: npt.NDArray[Any] | None = None

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
        for name, column in (("ids", self.ids), ("labels", self.labels)):
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
        )


def read_embeddings(path: Path | str) -> Embeddings:
    """Read ``.npy``, ``.npz``, ``.csv``, ``.parquet`` or ``.safetensors``; nothing is unpickled.

    ``.npy`` holds the vectors alone. ``.npz`` and ``.safetensors`` hold them as ``vectors`` (or as
    their only array of two axes), with optional ``ids`` and ``labels``. Tables have optional
    columns ``id`` and ``label``, and the vectors in one list column or in one column a
    dimension.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"cannot read {path}: the name must end in {', '.join(READERS)}")
    try:
        if not path.is_file():
            raise InputError("there is no such file")
        if path.stat().st_size == 0:
            raise InputError("it is empty: write it again")
        vectors, ids, labels = reader(path)
        if vectors.ndim > 0 and len(vectors) == 0:
            raise InputError("there are no rows")
        return Embeddings(
            _as_float(vectors),
            None if ids is None else _as_text(ids),
            None if labels is None else _as_labels(labels),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {DAMAGED} (text that is not UTF-8)") from error


def _as_float(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # Whole numbers (features counted, images as bytes) are welcome; text and complex are not.
    return vectors.astype(np.float64) if vectors.dtype.kind in "iub" else vectors


def _as_text(ids: npt.NDArray[Any]) -> npt.NDArray[np.str_]:
    if ids.dtype.kind == "S":
        return np.char.decode(ids, "utf-8")
    return ids.astype(np.str_)


def _as_labels(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return labels.astype(np.int64) if labels.dtype.kind in "iu" else _as_text(labels)


def check_embeddings_path(path: Path | str) -> None:
    """Refuse a path :func:`write_embeddings` could not write to."""
    if Path(path).suffix.lower() != ".parquet":
        raise InputError(f"cannot write embeddings to {path}: the name must end in .parquet")
    check_writable(path)


def write_embeddings(path: Path | str, embeddings: Embeddings) -> None:
    """Write a parquet table: ``id`` and ``label`` where known, and ``vector`` in float32."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_embeddings_path(path)
    flat = pa.array(np.ascontiguousarray(embeddings.vectors, dtype=np.float32).reshape(-1))
    columns = {} if embeddings.ids is None else {"id": pa.array(embeddings.ids.tolist())}
    if embeddings.labels is not None:
        columns["label"] = pa.array(embeddings.labels.tolist())
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, embeddings.vectors.shape[1])
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns), temporary, write_page_checksum=True)


def align(
    a: Embeddings, b: Embeddings, names: tuple[str, str] = ("a", "b")
) -> tuple[Embeddings, Embeddings]:
    """Put the rows of ``b`` in the order of ``a``: by id where both have ids, else by position.

    Raises
    ------
    InputError
        An id is repeated or missing on one side, or, without ids, the sets differ in length.
    """
    if a.ids is None or b.ids is None:
        if len(a) != len(b):
            raise InputError(
                f"{names[0]} has {len(a)} rows and {names[1]} has {len(b)}: without ids on both "
                "sides rows are matched by position, so the numbers must be equal"
            )
        return a, b
    rows_a, rows_b = _row_of_id(a.ids, names[0]), _row_of_id(b.ids, names[1])
    for here, there, name in ((rows_a, rows_b, names[1]), (rows_b, rows_a, names[0])):
        missing = [identity for identity in here if identity not in there]
        if missing:
            raise InputError(
                f"id '{missing[0]}' is missing from {name} ({len(missing)} missing in all): "
                "keep only the rows both sets have"
            )
    return a, b.take(np.array([rows_b[identity] for identity in rows_a], dtype=np.intp))


def align_all(sets: Sequence[Embeddings], names: Sequence[str]) -> list[Embeddings]:
    """Put the rows of all sets in the order of the first, as :func:`align` does for two.

    Where only some have ids, rows are matched by position, and those that have ids must agree on
    every position.
    """
    ids = [each.ids for each in sets if each.ids is not None]
    if len(ids) < len(sets):
        for each, name in zip(sets, names, strict=True):
            if each.ids is not None and not np.array_equal(each.ids, ids[0]):
                raise InputError(
                    f"{name} lists its ids in another order than the other files, and "
                    "not all files have ids to match rows by: add ids to every file or to none"
                )
    return [sets[0]] + [
        align(sets[0], each, (names[0], name))[1]
        for each, name in zip(sets[1:], names[1:], strict=True)
    ]


def _row_of_id(ids: npt.NDArray[np.str_], name: str) -> dict[str, int]:
    rows: dict[str, int] = {}
    for row, identity in enumerate(ids.tolist()):
        if identity in rows:
            raise InputError(
                f"id '{identity}' is repeated in {name} (rows {rows[identity]} and {row}): "
                "ids must be unique"
            )
        rows[identity] = row
    return rows

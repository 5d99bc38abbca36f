"""One reader a file format: a path in; vectors, ids and labels out, as plain arrays.

Files come from anywhere. Nothing is unpickled, and whatever a damaged file makes a library raise
leaves here as one :class:`~sag_vicreg.errors.InputError`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]
Columns = tuple[Array, Array | None, Array | None]

_PICKLED = "it holds Python objects, which are not read for safety; save a plain float array"
# What data frames call an index that has no name.
_INDEX = re.compile(r"|Unnamed: 0|__index_level_\d+__")
# Read as stored, little-endian; what is not here, such as 8-bit floats, NumPy has no type for.
_SAFETENSORS_TYPES = {
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "I8": "i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "BOOL": "?",
}
DAMAGED = "the file is truncated, corrupt or of another format"


def _damaged(error: Exception) -> InputError:
    reason = str(error).strip().splitlines()
    return InputError(f"{DAMAGED} ({reason[0] if reason else type(error).__name__})")


def _check_magic(path: Path, magic: bytes, other: bytes, other_name: str) -> None:
    """Refuse what NumPy would take for a pickle, and the other of its two formats."""
    with path.open("rb") as file:
        start = file.read(len(magic))
    if start.startswith(other):
        raise InputError(f"this is {other_name} under the wrong name; rename it")
    if not start.startswith(magic):
        raise InputError(f"{DAMAGED} (no NumPy header; pickles are not read)")


def read_npy(path: Path) -> Columns:
    """Read vectors alone."""
    _check_magic(path, b"\x93NUMPY", b"PK", "an .npz archive")
    try:
        # Mapped first: a header that promises more than the file holds then allocates nothing.
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError) as error:
        if "object" in str(error).lower():
            raise InputError(_PICKLED) from error
        raise _damaged(error) from error
    return np.array(mapped), None, None


def read_npz(path: Path) -> Columns:
    """Read the arrays ``vectors``, ``ids`` and ``labels`` of an archive."""
    _check_magic(path, b"PK", b"\x93NUMPY"[:2], "an .npy array")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # what zipfile, zlib and NumPy raise on damage shares no base class
        if "pickle" in str(error):
            raise InputError(_PICKLED) from error
        raise _damaged(error) from error
    return _from_mapping(arrays)


def read_safetensors(path: Path) -> Columns:
    """Read the tensors ``vectors``, ``ids`` and ``labels`` (numbers: the format has no text)."""
    from safetensors import SafetensorError, deserialize

    arrays = {}
    try:
        for name, tensor in deserialize(path.read_bytes()):
            if tensor["dtype"] == "BF16":  # NumPy has no bfloat16: it is float32's upper half
                halves = np.frombuffer(tensor["data"], dtype="<u2").astype(np.uint32)
                flat = (halves << 16).view(np.float32)
            else:
                flat = np.frombuffer(tensor["data"], dtype=_SAFETENSORS_TYPES[tensor["dtype"]])
            arrays[name] = flat.reshape(tensor["shape"])
    except (SafetensorError, ValueError, MemoryError) as error:
        raise _damaged(error) from error
    except KeyError as error:
        raise InputError(f"tensor '{name}' has dtype {error.args[0]}, which is not read") from error
    return _from_mapping(arrays)


def _from_mapping(arrays: dict[str, Array]) -> Columns:
    if "vectors" in arrays:
        vectors = arrays["vectors"]
    else:
        tables = [name for name, array in arrays.items() if array.ndim == 2]
        if len(tables) != 1:
            raise InputError(
                f"no array called 'vectors' (found: {', '.join(arrays) or 'nothing'}): name one so"
            )
        vectors = arrays[tables[0]]
    return vectors, arrays.get("ids"), arrays.get("labels")


def read_csv(path: Path) -> Columns:
    """Read a table of text: a header line with ``id``, ``label`` and a column a dimension.

    A first line of nothing but numbers is a row, not a header, unless it counts the columns as
    pandas does: 0, 1, 2.
    """
    import pyarrow as pa
    from pyarrow import csv

    try:
        with path.open(encoding="utf-8-sig") as lines:
            first = next(lines, "")
        cells = first.strip().split(",")
        counted = cells == [str(place) for place in range(len(cells))]
        headless = not counted and all(map(_is_number, cells))
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(autogenerate_column_names=headless),
            # An id such as 007 is a name, not a number.
            convert_options=csv.ConvertOptions(column_types={"id": pa.string()}),
        )
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from error
    return _from_table(table)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read_parquet(path: Path) -> Columns:
    """Read a table with columns ``id``, ``label`` and one list column, or a column a dimension."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from error
    return _from_table(table)


def _from_table(table: "pa.Table") -> Columns:
    import pyarrow as pa

    if table.num_rows == 0:
        raise InputError("the table has no rows")
    for name in ("id", "label"):
        if table.column_names.count(name) > 1:
            raise InputError(f"there is more than one column '{name}': keep one of them")
    ids = _text_column(table, "id")
    labels: Array | None = None
    if "label" in table.column_names:
        whole = pa.types.is_integer(table.schema.field("label").type)
        labels = table["label"].to_numpy() if whole else _text_column(table, "label")
        if whole and table["label"].null_count:
            raise InputError(f"column 'label' has no value in row {_first_null(table['label'])}")
    rest = _vector_fields(table)
    lists = {place: field.name for place, field in rest.items() if _is_list(field.type)}
    if len(lists) == 1:
        ((place, name),) = lists.items()
        return _from_list_column(table.column(place), name), ids, labels
    if lists:
        names = ", ".join(lists.values())
        raise InputError(f"more than one list column ({names}): keep the vectors' alone")
    return _from_wide_columns(table, rest), ids, labels


def _vector_fields(table: "pa.Table") -> "dict[int, pa.Field]":
    """Find the columns, by place, that are neither ids nor labels nor the index of a data frame.

    pandas writes its index as one more column; counted as a dimension, row numbers would drown
    all the others.
    """
    frame = table.schema.pandas_metadata or {}
    index = [name for name in frame.get("index_columns", ()) if isinstance(name, str)]
    others = ("id", "label", *index)
    return {
        place: field
        for place, field in enumerate(table.schema)
        if field.name not in others and not _INDEX.fullmatch(field.name)
    }


def _is_list(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _first_null(column: "pa.ChunkedArray") -> int:
    return int(np.argmax(column.is_null().to_numpy()))


def _text_column(table: "pa.Table", name: str) -> Array | None:
    import pyarrow as pa

    if name not in table.column_names:
        return None
    column = table[name]
    if column.null_count:
        raise InputError(f"column '{name}' has no value in row {_first_null(column)}")
    try:
        return np.array(column.cast(pa.string()).to_pylist(), dtype=np.str_)
    except pa.ArrowException as error:
        raise InputError(f"column '{name}' is {column.type}: expected text or numbers") from error


def _from_list_column(column: "pa.ChunkedArray", name: str) -> Array:
    import pyarrow.compute as pc

    if column.null_count:
        raise InputError(f"column '{name}' has no vector in row {_first_null(column)}")
    lengths = pc.list_value_length(column).to_numpy()
    odd = np.flatnonzero(lengths != lengths[0])
    if odd.size:
        row = int(odd[0])
        raise InputError(
            f"vectors differ in length: "
            f"row 0 has {lengths[0]} numbers, row {row} has {lengths[row]}"
        )
    flat: Array = pc.list_flatten(column).to_numpy()
    return flat.reshape(len(lengths), int(lengths[0]))


def _from_wide_columns(table: "pa.Table", fields: "dict[int, pa.Field]") -> Array:
    import pyarrow as pa

    columns = []
    for place, field in fields.items():
        name, kind = field.name, field.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise InputError(
                f"column '{name}' holds {kind}, not numbers: "
                "name it 'id' or 'label', or leave it out"
            )
        columns.append(table.column(place).to_numpy())
    if not columns:
        raise InputError("no column of numbers: the vectors are missing")
    return np.stack(columns, axis=1)


READERS: dict[str, Callable[[Path], Columns]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".safetensors": read_safetensors,
}

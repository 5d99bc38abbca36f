"""Files and objects that are tables: one function per format, all to an Arrow table.

Arrow checks what it reads only when asked: every table that leaves here was validated in full.
"""

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.arrow_messages import ArrowMessages, open_ipc
from sag_vicreg.artifacts.columns import IDS, LABELS, ColumnNames, brief
from sag_vicreg.artifacts.parquet_pages import read_batches
from sag_vicreg.door import check_memory, file_size, parse_json
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1 << 14
# What separates columns in files that only call themselves separated by commas.
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
# A name that is missing in a line is a cell without a value; most may not be.
_MOST_CELLS_PER_VALUE = 100


def is_number(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds numbers."""
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def is_list_of_numbers(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds one list of numbers per row."""
    import pyarrow as pa

    listed = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in listed) and is_number(kind.value_type)


def value_type(kind: "pa.DataType") -> "pa.DataType":
    """Return the type of a column's values, folded into a dictionary or not."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def held_as(kind: "pa.DataType") -> np.dtype[Any]:
    """Return what NumPy holds a column of numbers as, or one of lists of them."""
    while (inner := getattr(kind, "value_type", None)) is not None:
        kind = inner
    held: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return held


def known_numbers(column: "pa.ChunkedArray") -> npt.NDArray[Any]:
    """Return the numbers of a column that are there and finite."""
    values = column.drop_null().to_numpy()
    return np.asarray(values[np.isfinite(values)])


def has_fractions(column: "pa.ChunkedArray") -> bool:
    """Whether a column holds a number that is not whole."""
    return is_number(column.type) and bool(np.any(known_numbers(column) % 1))


def read_columns(file: BinaryIO, columns: Sequence[str]) -> "pa.Table":
    """Read columns of a parquet file, a batch of rows at a time, as long as the memory lasts."""
    import pyarrow as pa

    batches = []
    for batch in read_batches(file, columns, _BATCH):
        check_memory(batch.nbytes)  # of the next, which is as large
        batches.append(batch)
    if not batches:
        raise InputError("the table has no rows")
    table = pa.Table.from_batches(batches)
    table.validate(full=True)
    return table


def parquet_table(file: BinaryIO, names: ColumnNames) -> "pa.Table":
    """Read the columns that may be something of ours; of all others only name and type."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    return with_others(read_columns(file, candidates(schema, names)), schema)


def candidates(schema: "pa.Schema", names: ColumnNames) -> list[str]:
    """Return the columns that may be something of ours, in the order of the file."""
    texts = {*IDS, *LABELS, names.id_column, names.label_column, names.text_column or None}
    wanted = [
        field.name
        for field in schema
        if field.name in texts or is_number(field.type) or is_list_of_numbers(field.type)
    ]
    if not wanted:
        found = brief([f"{field.name} ({field.type})" for field in schema])
        raise InputError(f"no column of numbers: the vectors are missing; it has {found}")
    return wanted


def with_others(read: "pa.Table", schema: "pa.Schema") -> "pa.Table":
    """Put empty columns where a table has columns that were not read."""
    import pyarrow as pa

    # In the order of the file, duplicates included; a name may be that of several columns.
    columns = iter(read.columns)
    everything = [
        next(columns) if field.name in read.column_names else pa.nulls(read.num_rows, field.type)
        for field in schema
    ]
    return pa.table(everything, names=schema.names, metadata=schema.metadata)


def ipc_table(file: BinaryIO, names: ColumnNames) -> "pa.Table":
    """Read Feather or Arrow IPC, the form for files or the form for streams."""
    if file.read(4) == b"FEA1":
        raise InputError("it is Feather of version 1, which nothing writes now: save it again")
    messages = ArrowMessages(file)
    every = [*messages.dictionaries, *messages.batches]
    check_memory(sum(messages.measure(block).size for block in every))
    with open_ipc(file, messages) as opened:
        table = opened.read_all()
    table.validate(full=True)
    return table


def json_lines_table(file: BinaryIO, names: ColumnNames) -> "pa.Table":
    """Read one JSON mapping per line; the vectors are a list."""
    import pyarrow as pa

    check_memory(file_size(file))
    columns: dict[str, dict[int, Any]] = {}
    rows = 0
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        for key, value in _parse_line(line, number).items():
            columns.setdefault(key, {})[rows] = _compact(value)
        rows += 1
    if len(columns) * rows > _MOST_CELLS_PER_VALUE * sum(map(len, columns.values())):
        raise InputError(
            f"{rows:,} lines have {len(columns):,} different names, most of them missing in most "
            "lines: write the same names in every line"
        )
    return pa.table(
        {name: pa.array([cells.get(row) for row in range(rows)]) for name, cells in columns.items()}
    )


def _parse_line(line: bytes, number: int) -> dict[str, Any]:
    try:
        row = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number} is not JSON ({error}): write it again") from error
    if not isinstance(row, dict):
        raise InputError(f"line {number} is not a mapping of names to values: write it again")
    return row


def _compact(value: Any) -> Any:
    """Pack a list of numbers: as Python objects it takes four times the memory."""
    if isinstance(value, list) and value and all(type(each) in (int, float) for each in value):
        return np.array(value, dtype=np.float64)
    return value


def csv_table(file: BinaryIO, names: ColumnNames) -> "pa.Table":
    """Read a table of text, with a header or without.

    A first line of nothing but numbers is a row, not a header, unless it counts the columns as
    pandas does: 0, 1, 2. Columns without a header are named so too.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    check_memory(file_size(file))
    line = file.readline()
    file.seek(0)
    first = next(csv.reader(io.StringIO(line.decode("utf-8-sig"), newline="")), [])
    other = next((name for sign, name in _SEPARATORS.items() if sign in "".join(first)), None)
    if len(first) == 1 and other is not None:
        raise InputError(f"its columns are separated by {other}: separate them by commas")
    headless = _is_headless(first)
    numbered = [str(place) for place in range(len(first))]
    # An id or a class such as 007 is a name, not a number; and a text may be anything.
    labels = {*LABELS, names.label_column} - {None}
    as_written = {*IDS, *labels, names.id_column, names.text_column or None} - {None}
    table = arrow.read_csv(
        file,
        read_options=arrow.ReadOptions(
            column_names=numbered if headless else None,
            block_size=max(1 << 20, 8 * len(line)),  # a row must not be longer than a block
        ),
        parse_options=arrow.ParseOptions(newlines_in_values=bool(names.text_column)),
        convert_options=arrow.ConvertOptions(column_types=dict.fromkeys(as_written, pa.string())),
    )
    if headless and names.vector_columns is None and not any(map(has_fractions, table.columns)):
        raise InputError(
            "there is no header, and whole numbers alone do not tell dimensions from ids or "
            "classes: add --vector-columns '*' if every column is a dimension, or name those "
            f"that are; the columns are called {brief(table.column_names)}"
        )
    for place, name in enumerate(table.column_names):
        if name in labels:
            table = table.set_column(place, name, _counted(table.column(place)))
    return table


def _counted(labels: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Take labels for whole numbers where all of them are written as such numbers are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(labels, r"^(0|-?[1-9][0-9]{0,17})$")
    return labels.cast(pa.int64()) if pc.all(plain).as_py() else labels


def _is_headless(first: list[str]) -> bool:
    """Whether the first line is a row already; refuse it where that cannot be told."""
    numbers = [cell for cell in first if _is_number_text(cell)]
    if len(numbers) < len(first):
        fraction = next((cell for cell in numbers if not cell.strip().isdecimal()), None)
        if fraction is not None:
            raise InputError(
                f"the first line holds names and the number {fraction.strip()}: it must be a "
                "header, such as id,label,v0,v1,v2"
            )
        return False
    counts = [int(cell) for cell in numbers if cell.strip().isdecimal()]
    if counts == list(range(len(first))):
        return False
    if len(first) > 1 and sorted(counts) in [list(range(k, len(first) + k)) for k in (0, 1)]:
        raise InputError(
            f"the first line counts from {min(counts)} to {max(counts)} and may be a header or a "
            "row: put a header above it or in its place, such as v1,v2,v3"
        )
    return True


def _is_number_text(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_0 as ten; here it is a name

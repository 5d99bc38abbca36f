"""From a table with named columns to vectors, ids, labels and texts."""

import re
import shlex
from typing import TYPE_CHECKING

import numpy as np

from sag_vicreg.arrays import Array
from sag_vicreg.artifacts.arrays import Columns
from sag_vicreg.artifacts.arrow import (
    has_fractions,
    is_list_of_numbers,
    is_number,
    known_numbers,
    value_type,
)
from sag_vicreg.artifacts.columns import (
    IDS,
    LABELS,
    NOT_NUMBERS,
    ColumnNames,
    check_plain,
    numbered_run,
    select,
)
from sag_vicreg.artifacts.frames import class_names, noted
from sag_vicreg.artifacts.texts import text_column
from sag_vicreg.door import check_memory
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


# What data frames call an index that has no name.
_INDEX = re.compile(r"|Unnamed: 0(\.[0-9]+)*|__index_level_[0-9]+__")
# What a data frame's lists become in a CSV file.
_LIST_IN_TEXT = re.compile(r"\[\s*[-+.0-9]")
MOST_CHARACTERS = 4096
"""Of an id or a label: NumPy gives every row as much space as the longest."""


def from_table(table: "pa.Table", names: ColumnNames) -> Columns:
    """Return what a table holds, or refuse it where it is not plain which column is what.

    The vectors are the columns asked for; else the only column of lists; else the columns of
    numbers, if their names are numbered alike and nothing else is left over.
    """
    identity, label, text, places = find_columns(table, names)
    ids = None if identity is None else _text_column(table, identity)
    labels = None if label is None else label_array(table, label)
    texts = None if text is None else text_column(table, text)
    return vectors_of(table, places), ids, labels, texts


def find_columns(
    table: "pa.Table", names: ColumnNames
) -> tuple[str | None, str | None, str | None, list[int]]:
    """Return the columns of ids, of labels and of texts, and the places of the vectors."""
    if table.num_rows == 0:
        raise InputError("the table has no rows")
    told = names.find(table.column_names)
    free = _free_columns(table, set(told))
    if names.vector_columns is not None:
        return *told, select(names.vector_columns, free)
    return *told, _plain_vector(table, free)


def _free_columns(table: "pa.Table", taken: set[str | None]) -> dict[int, str]:
    """Return the name by place of columns that may be dimensions: no ids, labels, texts, index.

    pandas writes its index as one more column. What is named as an id or a label usually is cannot
    be a dimension either, even where another column was chosen.
    """
    # What pandas noted as the index of a frame.
    index = noted(table, b"pandas", "index_columns") or []
    others = {*taken, *IDS, *LABELS, *(name for name in index if isinstance(name, str))}
    return {
        place: name
        for place, name in enumerate(table.column_names)
        if name not in others
        and not (_INDEX.fullmatch(name) and not has_fractions(table.column(place)))
    }


def _plain_vector(table: "pa.Table", free: dict[int, str]) -> list[int]:
    """Return the places of the columns that are plainly the vectors, or refuse."""
    kinds = {place: table.schema.field(place).type for place in free}
    numbers = {place: name for place, name in free.items() if is_number(kinds[place])}
    lists = [place for place in free if is_list_of_numbers(kinds[place])]
    run = numbered_run(numbers)
    if len(lists) == 1 and len(run) <= _widest(table.column(lists[0])):
        return lists
    if lists:
        series = [f"{free[run[0]]}:{free[run[-1]]}"] if run else []
        choices = [shlex.quote(each) for each in [free[place] for place in lists] + series]
        raise InputError(
            f"the vectors may be {' or '.join(choices)}: choose by --vector-column {choices[0]}"
        )
    if not run:
        _refuse_lists_in_text(table, free)
    if not numbers:
        raise InputError("no column of numbers: the vectors are missing")
    doubts = {
        place: f"{_in_words(kinds[place])}, {NOT_NUMBERS}" for place in free if place not in numbers
    }
    fractions = {place for place in numbers if has_fractions(table.column(place))}
    whole = {
        place for place in numbers.keys() - fractions if known_numbers(table.column(place)).any()
    }
    check_plain(free, run, doubts, fractions, whole)
    return list(free)


def _refuse_lists_in_text(table: "pa.Table", free: dict[int, str]) -> None:
    for place, name in free.items():
        if _LIST_IN_TEXT.match(str(table.column(place)[0])):
            raise InputError(f"column '{name}' holds lists as text: save the table as .parquet")


def vectors_of(table: "pa.Table", places: list[int]) -> Array:
    """Return the columns as an array: one column of lists, or one column per dimension."""
    fields = [table.schema.field(place) for place in places]
    if len(places) == 1 and is_list_of_numbers(fields[0].type):
        return _from_list_column(table.column(places[0]), fields[0].name)
    for field in fields:
        if is_list_of_numbers(field.type):
            raise InputError(
                f"column '{field.name}' holds lists: choose it alone, "
                f"--vector-column {shlex.quote(field.name)}"
            )
        if not is_number(field.type):
            raise InputError(
                f"column '{field.name}' holds {_in_words(field.type)}, {NOT_NUMBERS}: "
                "leave it out of --vector-columns"
            )
    return np.stack([table.column(place).to_numpy() for place in places], axis=1)


def _in_words(kind: "pa.DataType") -> str:
    import pyarrow as pa

    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)


def _check_complete(column: "pa.ChunkedArray", name: str, what: str) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise InputError(f"column '{name}' has no {what} in row {row}")


def _text_column(table: "pa.Table", name: str) -> Array:
    return text_array(as_text(table, name).to_pylist(), name)


def text_array(texts: list[str], name: str) -> Array:
    """Return the texts of a column as NumPy keeps them."""
    if any("\0" in text for text in texts):  # which ends a text for NumPy, so that two become one
        raise InputError(f"column '{name}' holds a text with a NUL character: replace it")
    return np.array(texts, dtype=np.str_)


def as_text(table: "pa.Table", name: str) -> "pa.ChunkedArray":
    """Return a column as text, numbers as they are written."""
    import pyarrow as pa

    column = table[name]
    _check_complete(column, name, "value")
    longest = _longest(column)
    if longest > MOST_CHARACTERS:
        raise InputError(
            f"column '{name}' holds a text of {longest:,} characters, more than the "
            f"{MOST_CHARACTERS:,} of an id or a label: choose another by --id-column or "
            "--label-column"
        )
    check_memory(4 * longest * len(column))
    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(
            f"column '{name}' is {value_type(column.type)}: expected text or numbers; rename "
            "it, or choose another by --id-column or --label-column"
        ) from error


def _longest(column: "pa.ChunkedArray") -> int:
    """Return the length of the longest text, in bytes; 0 for what is not text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary for chunk in column.chunks])
    try:
        return int(pc.max(pc.binary_length(column)).as_py() or 0)
    except pa.ArrowNotImplementedError:
        return 0


def label_array(table: "pa.Table", name: str) -> Array:
    """Return a column of labels: whole numbers, their names where the file has them, or texts."""
    import pyarrow as pa

    column = table[name]
    if not pa.types.is_integer(column.type):
        return _text_column(table, name)
    _check_complete(column, name, "value")
    labels: Array = column.to_numpy()
    known = class_names(table, name)
    if known is None:
        return labels
    if labels.min() < 0 or labels.max() >= len(known):
        raise InputError(
            f"column '{name}' holds the label {labels.max()} and names for {len(known)} classes: "
            "save the dataset again"
        )
    return np.array(known)[labels]


def _widest(column: "pa.ChunkedArray") -> int:
    import pyarrow.compute as pc

    return int(pc.max(pc.list_value_length(column)).as_py() or 0)


def _from_list_column(column: "pa.ChunkedArray", name: str) -> Array:
    import pyarrow.compute as pc

    _check_complete(column, name, "vector")
    lengths = pc.list_value_length(column).to_numpy()
    odd = np.flatnonzero(lengths != lengths[0])
    if odd.size:
        row = int(odd[0])
        raise InputError(
            f"vectors differ in length: "
            f"row 0 has {lengths[0]} numbers, row {row} has {lengths[row]}"
        )
    return np.reshape(pc.list_flatten(column).to_numpy(), (len(lengths), int(lengths[0])))

"""Columns of the table files that hold images: parquet, and the Arrow files of ``datasets``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sag_vicreg.errors import InputError, first_line


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Name the file where PyArrow cannot read it."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        kind = "Arrow" if _is_arrow(file) else "parquet"
        raise InputError(f"{file} is not a readable {kind} file: {first_line(error)}") from error


def read_schema(file: Path) -> Any:
    """Read the names and types of a file's columns."""
    with readable(file):
        return _arrow_reader(file).schema if _is_arrow(file) else pq.read_schema(file)


def read_columns(file: Path, columns: list[str]) -> Any:
    """Read some columns of a file as a table."""
    with readable(file):
        if _is_arrow(file):
            return _arrow_reader(file).read_all().select(columns)
        return pq.read_table(file, columns=columns)


def count_rows(file: Path) -> int:
    """Count a file's rows."""
    with readable(file):
        if _is_arrow(file):
            return sum(batch.num_rows for batch in _arrow_reader(file))
        return int(pq.read_metadata(file).num_rows)


def _is_arrow(file: Path) -> bool:
    return file.suffix == ".arrow"


def _arrow_reader(file: Path) -> Any:
    """Open a stream of record batches, mapped into memory: cells are read when they are asked."""
    return pa.ipc.open_stream(pa.memory_map(str(file)))

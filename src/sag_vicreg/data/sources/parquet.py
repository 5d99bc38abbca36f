"""Parquet files of encoded images, in the layout the public hubs use."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sag_vicreg.data.encoded import EncodedImages, fingerprint_files
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.data.sources.table_files import (
    count_rows,
    read_columns,
    read_schema,
    readable,
)
from sag_vicreg.errors import InputError

# More than any dataset has: a larger label is an id, and a name for each number below it too many.
MOST_CLASSES = 1_000_000
LABEL_COLUMNS = ("fine_label", "label", "labels", "class")


def load_parquet(request: Request) -> Records:
    """Load a parquet file, or a folder of them.

    In a folder, files whose names start with ``train`` and ``test`` (or ``val``) are the splits;
    a single file, or a folder without such names, is split by seed, 80/20 of every class.
    """
    path = request.path
    files = [path] if path.is_file() else sorted(path.glob("*.parquet"))
    if not files:
        raise InputError(f"{path} holds no .parquet files")
    named = ("train", "test", "val")
    parts = [file for file in files if file != path and file.name.startswith(named)]
    if not parts:
        return read_parquet(files).split_by_seed(request)
    chosen = split_files(path, request)
    # A class means the same in train and test, also where only one of them has it.
    return read_parquet(chosen, class_names=class_names(parts), id_prefix=f"{request.split}/")


def split_files(folder: Path, request: Request) -> list[Path]:
    """Find the split's files in ``folder``: ``train-00000-of-00002.parquet`` and so on."""
    request.refuse_all(folder)
    split = request.split
    prefixes = ("train",) if split == "train" else ("test", "val")
    # The first that is there: where a dataset has both, validation images are not test images.
    found = (sorted(folder.glob(f"{prefix}*.parquet")) for prefix in prefixes)
    files = next(filter(None, found), [])
    if not files:
        raise InputError(f"{folder} has no {split}*.parquet: half of the dataset is missing")
    # Files of many parts say in their names how many there are.
    said = {int(named[1]) for file in files if (named := re.search(r"-of-(\d+)", file.stem))}
    if said and said != {len(files)}:
        raise InputError(f"{folder} has {len(files)} of {max(said)} {split} files: half a dataset")
    return files


def read_parquet(
    files: Sequence[Path],
    *,
    class_names: Sequence[str] | None = None,
    id_prefix: str = "",
) -> Records:
    """Read the labels of ``files``, and see which column holds images; these are read later.

    Parameters
    ----------
    class_names
        All class names, which labels count in; by default those the file's own metadata gives.
    """
    image = _image_column(files[0])
    names, labels = _labels(files, class_names)
    return Records(
        class_names=names,
        labels=labels,
        ids=[f"{id_prefix}{row:06d}" for row in range(len(labels))],
        encoded=EncodedImages(ImageColumn(tuple(files), image), np.arange(len(labels))),
    )


def class_names(files: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of all classes in ``files``: by their metadata, else by their labels."""
    schema = read_schema(files[0])
    noted = next((_hub_class_names(schema, c) for c in LABEL_COLUMNS if c in schema.names), None)
    return noted or _labels(files, None)[0]


@dataclass(frozen=True, eq=False)
class ImageColumn:
    """Encoded images in a column of parquet files, read whole when the first is asked for."""

    files: tuple[Path, ...]
    column: str

    @cached_property
    def _cells(self) -> Any:
        """The column in its chunks: as one array its 32-bit offsets would end at 2 GiB."""
        column = _read_column(self.files, self.column)
        return pc.struct_field(column, "bytes") if pa.types.is_struct(column.type) else column

    def read(self, place: int) -> bytes | None:
        """Read one cell."""
        data: bytes | None = self._cells[place].as_py()
        return data

    def name(self, place: int) -> str:
        """Give the file, or the folder of many files, and the row."""
        where = self.files[0] if len(self.files) == 1 else self.files[0].parent
        return f"{where} row {place}"

    def fingerprint(self, places: NDArray[np.int64]) -> str:
        """Give the files' names, sizes and times, and the column."""
        return f"{fingerprint_files(self.files)}|{self.column}"


def _read_column(files: Sequence[Path], column: str) -> Any:
    parts = [_decoded(read_columns(file, [column])) for file in files]
    with readable(files[0].parent):
        # One file may count in 32 bits and the next in 64.
        return pa.concat_tables(parts, promote_options="permissive")[column]


def _decoded(table: Any) -> Any:
    """Unfold texts that one file keeps in a dictionary and another does not."""
    column = table[0]
    if not pa.types.is_dictionary(column.type):
        return table
    return table.set_column(0, table.column_names[0], column.cast(column.type.value_type))


def _image_column(file: Path) -> str:
    schema = read_schema(file)
    for column in schema:
        binary = column.type
        if pa.types.is_struct(binary) and binary.get_field_index("bytes") >= 0:
            binary = binary.field("bytes").type
        if pa.types.is_binary(binary) or pa.types.is_large_binary(binary):
            return str(column.name)
    raise InputError(
        f"{file} has no image column: it needs one of encoded bytes or of {{bytes, path}}; "
        f"its columns are {', '.join(schema.names)}"
    )


def _hub_class_names(schema: Any, label: str) -> tuple[str, ...] | None:
    """Class names from the metadata the hub's own writer leaves, if it is there."""
    try:
        info = json.loads((schema.metadata or {})[b"huggingface"])
        return tuple(info["info"]["features"][label]["names"])
    except (KeyError, TypeError, ValueError):
        return None


def _labels(
    files: Sequence[Path], names: Sequence[str] | None
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    schema = read_schema(files[0])
    column = next((name for name in LABEL_COLUMNS if name in schema.names), None)
    if column is None:
        return ("unlabelled",), np.zeros(sum(map(count_rows, files)), dtype=np.int64)
    names = names or _hub_class_names(schema, column)
    cells = _read_column(files, column)
    if cells.null_count:
        raise InputError(f"{files[0]}: column '{column}' has {cells.null_count} missing labels")
    if pa.types.is_nested(cells.type):
        raise InputError(f"{files[0]}: column '{column}' holds {cells.type}, not one label per row")
    values = cells.to_numpy()
    if not len(values):
        raise InputError(f"{files[0]} has no rows: there are no images in it")
    if values.dtype.kind in "iu":
        if names is None and values.max() >= MOST_CLASSES:
            raise InputError(
                f"{files[0]}: column '{column}' holds label {values.max()}, which counts classes: "
                "number them from 0, or write names"
            )
        if names is None:
            names = [str(value) for value in range(int(values.max()) + 1)]
        if values.min() < 0 or values.max() >= len(names):
            raise InputError(
                f"{files[0]}: column '{column}' holds labels {values.min()} to {values.max()}, "
                f"but there are {len(names)} classes"
            )
        return tuple(names), values.astype(np.int64)
    found, labels = np.unique(values.astype(str), return_inverse=True)
    names = tuple(names or found.tolist())
    if unknown := [name for name in found.tolist() if name not in names]:
        raise InputError(
            f"{files[0]}: column '{column}' holds '{unknown[0]}', which is none of the "
            f"{len(names)} classes"
        )
    places = np.array([names.index(name) for name in found.tolist()], dtype=np.int64)
    return names, places[labels.reshape(-1)]

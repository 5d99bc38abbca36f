"""Parquet files of encoded images, in the layout the public hubs use."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.data.encoded import EncodedImages
from sag_vicreg.data.sources.records import Records, Request, fingerprint_files
from sag_vicreg.errors import InputError

LABEL_COLUMNS = ("fine_label", "label", "labels", "class")


def load_parquet(request: Request) -> Records:
    """Load a parquet file, or a folder of them.

    In a folder, files whose names start with ``train`` and ``test`` (or ``val``) are the splits;
    a single file, or a folder without such names, is split by seed, 80/20 of every class.
    """
    path = request.path
    if path.is_file():
        return read_parquet([path]).split_by_seed(request)
    files = sorted(path.glob("*.parquet"))
    if not files:
        raise InputError(f"{path} holds no .parquet files")
    if not any(file.name.startswith(("train", "test", "val")) for file in files):
        return read_parquet(files).split_by_seed(request)
    return read_parquet(split_files(path, request.split))


def split_files(folder: Path, split: str) -> list[Path]:
    """Find the files of ``split`` in ``folder``; ``train-00000-of-00002.parquet`` and so on."""
    if split == "all":
        raise InputError(f"{folder} comes as train and test: load one of them, not 'all'")
    prefixes = ("train",) if split == "train" else ("test", "val")
    files = sorted(file for file in folder.glob("*.parquet") if file.name.startswith(prefixes))
    if not files:
        raise InputError(f"{folder} has no {split}*.parquet: half of the dataset is missing")
    # Files of many parts say in their names how many there are.
    said = {file.stem.rpartition("-of-")[2] for file in files if "-of-" in file.stem}
    if said and said != {f"{len(files):05d}"}:
        raise InputError(f"{folder} has {len(files)} of {max(said)} {split} files: half a dataset")
    return files


def read_parquet(
    files: Sequence[Path],
    *,
    class_names: Sequence[str] | None = None,
    id_prefix: str = "",
) -> Records:
    """Read the image and label columns of ``files``; images stay encoded.

    Parameters
    ----------
    class_names
        Names of the integer labels; by default those the file's own metadata gives.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(files[0])
        image, label = _image_column(schema, files[0]), _label_column(schema)
        columns = [image, label] if label else [image]
        table = pa.concat_tables([pq.read_table(file, columns=columns) for file in files])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{files[0]} is not a readable parquet file: {reason}") from error
    # One contiguous array, so that row i is found at once.
    data = table[image].combine_chunks()
    if pa.types.is_struct(data.type):
        data = data.field("bytes")
    names, labels = _labels(table, label, class_names or _hub_class_names(schema, label), files[0])
    file_name = files[0].name if len(files) == 1 else f"{files[0].parent}"
    return Records(
        class_names=names,
        labels=labels,
        ids=[f"{id_prefix}{row:06d}" for row in range(len(labels))],
        encoded=EncodedImages(data, _RowNames(f"{file_name} row", len(labels))),
        fingerprint=lambda: fingerprint_files(files),
    )


class _RowNames(Sequence[str]):
    """``file row 0``, ``file row 1``, ... without holding them all."""

    def __init__(self, prefix: str, length: int) -> None:
        self._prefix, self._length = prefix, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, row: Any) -> Any:
        return f"{self._prefix} {range(self._length)[row]}"


def _image_column(schema: Any, file: Path) -> str:
    import pyarrow as pa

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


def _label_column(schema: Any) -> str | None:
    return next((name for name in LABEL_COLUMNS if name in schema.names), None)


def _hub_class_names(schema: Any, label: str | None) -> tuple[str, ...] | None:
    """Class names from the metadata the hub's own writer leaves, if it is there."""
    try:
        info = json.loads((schema.metadata or {})[b"huggingface"])
        return tuple(info["info"]["features"][label]["names"])
    except (KeyError, TypeError, ValueError):
        return None


def _labels(
    table: Any, column: str | None, names: Sequence[str] | None, file: Path
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    if column is None:
        return ("unlabelled",), np.zeros(len(table), dtype=np.int64)
    values = table[column].to_numpy()
    if table[column].null_count:
        raise InputError(f"{file}: column '{column}' has {table[column].null_count} missing labels")
    if values.dtype.kind in "iu":
        if names is None:
            names = [str(value) for value in range(int(values.max()) + 1)]
        if values.min() < 0 or values.max() >= len(names):
            raise InputError(
                f"{file}: column '{column}' holds labels {values.min()} to {values.max()}, "
                f"but there are {len(names)} classes"
            )
        return tuple(names), values.astype(np.int64)
    found, labels = np.unique(values.astype(str), return_inverse=True)
    return tuple(found.tolist()), labels.reshape(-1).astype(np.int64)

"""Files of arrays: ``.npy``, ``.npz`` and ``.safetensors``. Nothing is unpickled.

What a header promises is compared with what the file holds before anything is allocated.
"""

import io
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from sag_vicreg.arrays import Array
from sag_vicreg.artifacts.columns import IDS, LABELS, ColumnNames, select
from sag_vicreg.door import check_memory, file_size
from sag_vicreg.errors import InputError

Columns = tuple[Array, Array | None, Array | None, Array | None]
"""Vectors, ids, labels, texts."""

_PICKLED = "it holds Python objects, which are not read for safety; save a plain float array"
# How a version reads its header, and the bytes in which it says how long that is.
_VERSIONS = {
    (1, 0): (np.lib.format.read_array_header_1_0, 2),
    (2, 0): (np.lib.format.read_array_header_2_0, 4),
}
_MOST_HEADER = 1 << 16
_NPY, _ZIP = b"\x93NUMPY", b"PK"
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


@dataclass(frozen=True)
class _Header:
    """What an array in NumPy's format says of itself, and where its data begins."""

    shape: tuple[int, ...]
    order: Literal["F", "C"]
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def _read_header(file: Any, length: int) -> _Header:
    """Read the header of an array of ``length`` bytes in all; refuse what does not fit it."""
    version = np.lib.format.read_magic(file)
    if version not in _VERSIONS:
        raise ValueError(f"version {version[0]}.{version[1]} of NumPy's format")
    read, width = _VERSIONS[version]
    prefix = file.read(width)
    size = int.from_bytes(prefix, "little")
    if size > _MOST_HEADER:  # which NumPy would read before it says so
        raise ValueError(f"a header of {size:,} bytes")
    shape, fortran, dtype = read(io.BytesIO(prefix + file.read(size)))
    if dtype.hasobject:
        raise InputError(_PICKLED)
    header = _Header(shape, "F" if fortran else "C", dtype, file.tell())
    if any(side < 0 for side in shape) or header.size != length - header.start:
        raise ValueError(f"shape {shape} of {dtype} in {length - header.start:,} bytes")
    return header


def _read_data(file: Any, header: _Header) -> Array:
    check_memory(header.size)
    data = np.frombuffer(file.read(header.size), dtype=header.dtype)
    return data.reshape(header.shape, order=header.order)


def _check_magic(file: BinaryIO, magic: bytes, other: bytes, other_name: str) -> int:
    """Refuse what NumPy would take for a pickle, and the other of its two formats.

    Returns the length of the file.
    """
    start = file.read(len(magic))
    if start.startswith(other[:2]):
        raise InputError(f"this is {other_name} under the wrong name; rename it")
    if start != magic:
        raise ValueError("no NumPy header; pickles are not read")
    file.seek(0)
    return file_size(file)


def read_npy(file: BinaryIO, names: ColumnNames) -> Columns:
    """Read vectors alone: there are no names to choose from."""
    length = _check_magic(file, _NPY, _ZIP, "an .npz archive")
    return _read_data(file, _read_header(file, length)), None, None, None


def map_npy(path: Path) -> Array:
    """Map an array into memory: what nobody looks at is not read."""
    with path.open("rb") as file:
        header = _read_header(file, _check_magic(file, _NPY, _ZIP, "an .npz archive"))
    return np.memmap(path, header.dtype, "r", header.start, header.shape, header.order)


def read_npz(file: BinaryIO, names: ColumnNames) -> Columns:
    """Read the arrays ``vectors``, ``ids`` and ``labels`` of an archive; others stay packed."""
    _check_magic(file, _ZIP, _NPY, "an .npy array")
    with zipfile.ZipFile(file) as archive:
        members = {
            entry.filename.removesuffix(".npy"): entry
            for entry in archive.infolist()
            if entry.filename.endswith(".npy")
        }

        def header(name: str) -> _Header:
            with archive.open(members[name]) as member:
                return _read_header(member, members[name].file_size)

        def data(name: str) -> Array:
            with archive.open(members[name]) as member:
                found = _read_data(member, _read_header(member, members[name].file_size))
                member.read()  # to the end, where the archive keeps its checksum
                return found

        return _chosen({name: len(header(name).shape) for name in members}, names, data)


def read_safetensors(file: BinaryIO, names: ColumnNames) -> Columns:
    """Read the tensors ``vectors``, ``ids`` and ``labels`` (numbers: the format has no text)."""
    from safetensors import deserialize

    check_memory(file_size(file))
    tensors = dict(deserialize(file.read()))
    axes = {name: len(tensor["shape"]) for name, tensor in tensors.items()}
    return _chosen(axes, names, lambda name: _tensor(name, **tensors[name]))


def _tensor(name: str, *, dtype: str, shape: list[int], data: bytes) -> Array:
    if dtype == "BF16":  # NumPy has no bfloat16: it is float32's upper half
        halves = np.frombuffer(data, dtype="<u2").astype(np.uint32)
        return (halves << 16).view(np.float32).reshape(shape)
    if dtype not in _SAFETENSORS_TYPES:
        raise InputError(
            f"tensor '{name}' has dtype {dtype}, which is not read: save it as F32 or F16"
        )
    return np.frombuffer(data, dtype=_SAFETENSORS_TYPES[dtype]).reshape(shape)


def _chosen(axes: dict[str, int], names: ColumnNames, read: Callable[[str], Array]) -> Columns:
    """Read the arrays that are vectors, ids, labels and texts by name and number of axes."""
    given = list(axes)
    told = names.find(given)
    free = [name for name in given if name not in (*told, *IDS, *LABELS)]
    if names.vector_columns is not None:
        chosen = [free[place] for place in select(names.vector_columns, dict(enumerate(free)))]
    elif "vectors" in axes:
        chosen = ["vectors"]
    else:
        chosen = [name for name in free if axes[name] == 2]
    if len(chosen) != 1:
        raise InputError(
            f"no array called 'vectors' (found: {', '.join(given) or 'nothing'}): "
            "name the one that holds them by --vector-column"
        )
    ids, labels, texts = (None if name is None else read(name) for name in told)
    return read(chosen[0]), ids, labels, texts

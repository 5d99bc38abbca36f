"""The files of a table that is read piece by piece: where they are, and how each format is cut.

A piece is what can be read without its neighbours: a row group of a parquet file, a record batch
of an Arrow file, some thousand rows of a ``.npy`` array. Pieces have one order for everybody, so
that work over them can be shared out and its results put together.
"""

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from sag_vicreg.artifacts.arrays import map_npy
from sag_vicreg.artifacts.arrow_messages import ArrowMessages, open_ipc
from sag_vicreg.artifacts.frames import dataset_files
from sag_vicreg.artifacts.parquet_pages import read_batches
from sag_vicreg.artifacts.runs import THUMBNAILS
from sag_vicreg.door import check_memory
from sag_vicreg.errors import InputError, first_line

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem

# A piece of an array: large enough to be worth a task, small beside any budget.
_NPY_PIECE_BYTES = 32 << 20
_VECTOR = "vector"
# How long Google's client tries again, unless the address says so by retry_limit_seconds.
_PATIENCE = timedelta(seconds=20)


@dataclass(frozen=True)
class Piece:
    """Some consecutive rows of a table: part ``part`` of ``path``, from row ``start`` on."""

    path: str
    part: int
    start: int
    rows: int

    @property
    def stop(self) -> int:
        """The row after the last."""
        return self.start + self.rows


@contextmanager
def one_line(path: str) -> Iterator[None]:
    """Turn whatever reading ``path`` raises into one line about it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: the file is gone: keep the files in place until the command ends"
        ) from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)})") from error
    except Exception as error:  # parsers share no base class for what damaged bytes do to them
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path}: not a file of embeddings, or a damaged one ({said}): write it again"
        ) from error


def find_files(where: str) -> tuple["FileSystem", list[str]]:
    """List the files of a folder, a pattern or an address, ordered by name, numbers by value.

    ``where`` is a path or an address that :mod:`pyarrow.fs` knows, such as ``s3://bucket/folder``,
    with ``*``, ``?`` and ``[...]`` in any part of it. What begins with a dot or an underscore is
    skipped, as engines that write such folders keep their own files under such names.
    """
    from pyarrow.fs import FileSystem, FileType, LocalFileSystem

    with one_line(where):
        if "://" in where:
            try:
                system, path = FileSystem.from_uri(where)
                system = _few_attempts(system)
            except ValueError as error:
                raise InputError(f"it is no address that can be read ({error})") from error
            except OSError as error:
                if not where.startswith("s3:"):
                    raise
                # Where an address says neither, Amazon is asked for the region of the bucket.
                raise InputError(
                    f"cannot be read ({first_line(error)}): name the region of the bucket, as "
                    "?region=eu-west-1 behind the address, or a store of your own, as "
                    "?endpoint_override=HOST:PORT"
                ) from error
        else:
            system, path = LocalFileSystem(), Path(where).absolute().as_posix()
        parts = PurePosixPath(path).parts
        wild = next((k for k, part in enumerate(parts) if set(part) & set("*?[")), None)
        root = path if wild is None else PurePosixPath(*parts[:wild]).as_posix()
        info = system.get_file_info(root)
        if info.type == FileType.File and wild is None:
            return system, [path]
        if info.type == FileType.NotFound:
            raise InputError("there is no such file or folder")
        if system.type_name == "local" and wild is None and Path(root, "state.json").is_file():
            return system, [shard.as_posix() for shard in dataset_files(Path(root))]
        found = [
            each
            for each in _files_below(system, root)
            if _is_data(PurePosixPath(each).relative_to(root))
            and (wild is None or _fits(PurePosixPath(each).parts, parts))
        ]
        if not found:
            kind = "in this folder" if wild is None else "of such a name"
            raise InputError(f"there are no {' or '.join(SUFFIXES)} files {kind}")
        return system, sorted(found, key=_by_number)


def _by_number(path: str) -> tuple[list[list[str | int]], str]:
    """Order ``part-2`` before ``part-10``: rows without ids are told by their position."""
    names = PurePosixPath(path).with_suffix("").parts
    texts = [re.split(r"([0-9]+)", name) for name in names]
    # Every other one is a number, so that texts are compared with texts.
    return [[int(t) if k % 2 else t for k, t in enumerate(parts)] for parts in texts], path


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Match part by part: a wildcard does not reach into folders below."""
    return len(parts) == len(pattern) and all(map(fnmatch.fnmatchcase, parts, pattern))


def _few_attempts(system: "FileSystem") -> "FileSystem":
    """Return the same filesystem, with a client that gives up where a store does not answer.

    S3's made of an address tries 31 times, which takes minutes where a host never answers; made of
    options it tries three times, as Amazon's own tools do. Google's goes on for 15 minutes.
    """
    if system.type_name not in ("s3", "gcs"):
        return system
    # The options as they are pickled for other processes.
    options: dict[str, Any] = system.__reduce__()[1][0]
    if system.type_name == "gcs":
        options["retry_time_limit"] = options["retry_time_limit"] or _PATIENCE
    return type(system)(**options)


def _files_below(system: "FileSystem", root: str) -> Iterator[str]:
    """Yield the files of a folder and of those in it; a link that leads back is not followed."""
    from pyarrow.fs import FileSelector, FileType, LocalFileSystem

    if not isinstance(system, LocalFileSystem):
        entries = system.get_file_info(FileSelector(root, recursive=True))
        yield from (entry.path for entry in entries if entry.type == FileType.File)
        return
    seen = set()
    for folder, inner, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            inner.clear()
            continue
        seen.add(real)
        paths = (Path(folder, name) for name in names)
        yield from (path.as_posix() for path in paths if path.is_file())


def _is_data(path: PurePosixPath) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.parts)
    return path.suffix.lower() in SUFFIXES and not hidden and path.name != THUMBNAILS


class ParquetParts:
    """Row groups, each decoded as it is read."""

    def __init__(self, source: Any, path: str) -> None:
        self._source = source

    def rows(self) -> list[int]:
        """Return the rows of each row group."""
        import pyarrow.parquet as pq

        metadata = pq.read_metadata(self._source)
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def schema(self) -> "pa.Schema":
        """Read the columns off the file's footer."""
        import pyarrow.parquet as pq

        return pq.read_schema(self._source)

    def read(self, part: int, columns: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
        """Read some columns of a part, at most so many rows at a time."""
        return read_batches(self._source, columns, rows, groups=[part], use_threads=False)


class ArrowParts:
    """Record batches of the file format; a stream, which cannot be entered, is a single part."""

    def __init__(self, source: Any, path: str) -> None:
        self._source = source
        self._messages = ArrowMessages(source)

    def rows(self) -> list[int]:
        """Return the rows of each record batch."""
        rows = [self._messages.measure(block).rows for block in self._messages.batches]
        if not self._messages.is_file:
            return [sum(rows)]
        opened = open_ipc(self._source, self._messages)
        # A batch without rows is never read again: Arrow tells an empty one from a damaged one.
        return [n or opened.get_batch(number).num_rows for number, n in enumerate(rows)]

    def schema(self) -> "pa.Schema":
        """Read the columns off the file's header."""
        return open_ipc(self._source, self._messages).schema

    def read(self, part: int, columns: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
        """Slice a record batch."""
        messages = self._messages
        blocks = [messages.batches[part]] if messages.is_file else messages.batches
        largest = max((messages.measure(block).size for block in blocks), default=0)
        check_memory(largest + sum(messages.measure(each).size for each in messages.dictionaries))
        opened = open_ipc(self._source, messages)
        for batch in [opened.get_batch(part)] if messages.is_file else opened:
            chosen = batch.select(columns)
            for start in range(0, chosen.num_rows, rows):
                yield chosen.slice(start, rows)


class NpyParts:
    """Rows of one array, mapped into memory; to those who read, a table of one column."""

    def __init__(self, source: Any, path: str) -> None:
        array = map_npy(Path(path))
        if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiu":
            raise InputError(
                f"{array.dtype} of shape {array.shape}: expected numbers on two axes, rows and "
                "dimensions"
            )
        self._array = array
        self._part_rows = max(1, _NPY_PIECE_BYTES // (array.shape[1] * array.itemsize))

    def rows(self) -> list[int]:
        """Return the rows of each part, of equal size but the last."""
        n, size = len(self._array), self._part_rows
        return [min(size, n - start) for start in range(0, n, size)]

    def schema(self) -> "pa.Schema":
        """Describe the one column."""
        import pyarrow as pa

        kind = pa.from_numpy_dtype(self._array.dtype)
        return pa.schema([(_VECTOR, pa.list_(kind, self._array.shape[1]))])

    def read(self, part: int, columns: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
        """Wrap rows of the map; nothing is copied."""
        import pyarrow as pa

        vectors = self._array[part * self._part_rows : (part + 1) * self._part_rows]
        for start in range(0, len(vectors), rows):
            block = vectors[start : start + rows]
            flat = np.ascontiguousarray(block, block.dtype.newbyteorder("=")).reshape(-1)
            column = pa.FixedSizeListArray.from_arrays(pa.array(flat), block.shape[1])
            yield pa.record_batch([column], names=[_VECTOR])


TableParts = ParquetParts | ArrowParts | NpyParts
"""An open file of any format, cut into parts."""
SUFFIXES: dict[str, Callable[[Any, str], TableParts]] = {
    ".parquet": ParquetParts,
    ".arrow": ArrowParts,
    ".feather": ArrowParts,
    ".npy": NpyParts,
}


@contextmanager
def open_parts(system: "FileSystem", path: str) -> Iterator[TableParts]:
    """Open a file for the time of a ``with`` block, on the machine that reads it."""
    suffix = PurePosixPath(path).suffix.lower()
    # An array is mapped by its name, which may be none that Arrow can open: it need not be UTF-8.
    with nullcontext() if suffix == ".npy" else system.open_input_file(path) as source:
        yield SUFFIXES[suffix](source, path)

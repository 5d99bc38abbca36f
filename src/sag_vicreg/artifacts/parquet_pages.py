"""What the pages of a parquet file will take once they are unpacked, told before they are.

A page of a hundred bytes may stand for gigabytes: compressed, or as runs of one number. Its header
says what it will take, and PyArrow believes it. A footer says so too, but nothing binds the pages
to it, and PyArrow aborts the process where some footers are damaged. So the headers are read on
their way to PyArrow, without a byte being read twice.
"""

import io
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sag_vicreg.door import check_memory

if TYPE_CHECKING:
    import pyarrow as pa

# Read at a time: a column of a row group need not fit into memory.
_BUFFER_BYTES = 1 << 20
# Of a header; its longest part are the smallest and largest text of the page.
_MOST_HEADER = 1 << 16
_MOST_DEPTH = 8
# The fields for data, dictionaries and data of version 2, each with its number of values; and where
# in each its encoding stands.
_KINDS = {5: 2, 7: 2, 8: 4}
# Encodings of texts that PyArrow does not read as dictionaries: lengths, then letters; and how many
# letters a text has in common with the one before, then the rest.
_DELTAS = (6, 7)
# Rows read at a time where there are such: each may be as long as all that a page holds.
_DELTA_ROWS = 64
# Two lengths for every value of such a page; and how often its texts are in memory: decoded, as a
# column, and as the dictionary of a column.
_LENGTH_BYTES, _COPIES = 4 + 4, 3
# A number of a list, and its levels: how deep it is nested, and whether a list begins with it.
_LISTED_BYTES = 8 + 2 + 2
# Bytes of values of one width: true and false, which are their own value; bytes; floats.
_WIDTHS = {1: 0, 2: 0, 3: 1, 7: 8}
# Less is not worth a look at the free memory.
_SMALL = 1 << 26


def read_batches(
    file: Any,
    columns: Sequence[str],
    rows: int,
    *,
    groups: Sequence[int] | None = None,
    use_threads: bool = True,
) -> "Iterator[pa.RecordBatch]":
    """Read columns some rows at a time, and never more than fits into memory.

    Texts are dictionaries: one long text in every row takes no more than in the file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    footer = pq.ParquetFile(file)
    chosen = [field for field in footer.schema_arrow if field.name in columns]
    flat = [field for field in chosen if not pa.types.is_nested(field.type)]
    fixed = (each.type.byte_width for each in flat if pa.types.is_fixed_size_binary(each.type))
    check_memory(rows * sum(fixed))
    text = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    texts = [field.name for field in flat if field.type in text]
    done = 0
    # Only headers of pages tell whether there are texts that are no dictionaries: PyArrow aborts
    # where a footer that says so is damaged.
    for folded in (True, False):
        rows = rows if folded else min(rows, _DELTA_ROWS)
        pages = _CountedPages(file, len(flat) < len(chosen), len(texts), rows, folded=folded)
        opened = pq.ParquetFile(
            pages,
            metadata=footer.metadata,
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=[field.name for field in flat] if folded else [],
        )
        before = done
        try:
            for batch in opened.iter_batches(
                rows, columns=list(columns), row_groups=groups, use_threads=use_threads
            ):
                pages.forget()
                known, before = min(before, len(batch)), max(0, before - len(batch))
                if known < len(batch):
                    done += len(batch) - known
                    yield batch if folded else _fold(batch.slice(known), texts)
                pages.check()
            return
        except OSError:
            if not folded or not pages.delta:
                raise


def _fold(batch: "pa.RecordBatch", names: Collection[str]) -> "pa.RecordBatch":
    """Make dictionaries of texts that PyArrow could not read as such."""
    import pyarrow as pa

    for place, field in enumerate(batch.schema):
        if field.name in names:
            column = batch.column(place).dictionary_encode()
            batch = batch.set_column(place, pa.field(field.name, column.type), column)
    return batch


class _CountedPages(io.RawIOBase):
    """A parquet file that refuses to hand over pages that would not fit into memory.

    To PyArrow it is a file; closing it leaves the one behind it open. Reads that go on where one
    ended belong to the same column; others begin one, with the header of a page.
    """

    def __init__(self, file: Any, lists: bool, texts: int, rows: int, *, folded: bool) -> None:
        self._file = file
        # How many texts a batch has, and whether PyArrow reads them as dictionaries.
        self._batch_texts, self._folded = texts * rows, folded
        self._longest = 0
        self.delta = False
        # Without lists, a column is unpacked as far as a batch needs; a list, to its end.
        self._value_bytes = _LISTED_BYTES if lists else 0
        self._taken = 0
        self._columns: dict[int, list[_Column]] = defaultdict(list)

    def forget(self) -> None:
        """Begin another batch: what the pages of the last one took is free again."""
        self._taken = 0

    def check(self) -> None:
        """Refuse to go on where the next batch would not fit into memory."""
        # A text is as long as its page, at most.
        needed = self._taken + _COPIES * self._batch_texts * self._longest
        if needed > _SMALL:
            check_memory(needed)

    def readable(self) -> bool:
        """Whether it can be read, as PyArrow asks."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to a place in the file."""
        return int(self._file.seek(offset, whence))

    def read(self, size: int = -1, /) -> bytes:
        """Read bytes, and look at the headers of pages among them."""
        start = self._file.tell()
        data: bytes = self._file.read(size)
        self._look(start, data)
        return data

    def _look(self, start: int, data: bytes) -> None:
        going_on = self._columns.pop(start, [])
        # A column may also begin in the midst of what another calls a page.
        if not any(column.sure and column.between_pages for column in going_on):
            going_on.append(_Column(sure=not going_on))
        for column in going_on:
            try:
                for unpacked, values, delta in column.look(data):
                    self._taken += unpacked + values * self._value_bytes
                    if delta:
                        self.delta = True
                        self._taken += values * _LENGTH_BYTES
                    if not self._folded:
                        self._longest = max(self._longest, unpacked)
            except ValueError:
                if column.sure:
                    raise
            else:
                self._columns[start + len(data)].append(column)
        self.check()


@dataclass
class _Column:
    """Where in its pages a column is: bytes ``left`` to the next header, or the begin of one."""

    sure: bool
    left: int = 0
    begun: bytes = b""

    @property
    def between_pages(self) -> bool:
        """Whether the next byte begins a header."""
        return self.left == 0 and not self.begun

    def look(self, data: bytes) -> Iterator[tuple[int, int, bool]]:
        """Yield of every page that begins in ``data`` what it is once unpacked.

        Its bytes, its values, and whether they are texts that PyArrow reads as no dictionary.
        """
        data, self.begun = self.begun + data, b""
        at = self.left
        while at < len(data):
            try:
                header, end = _read_struct(data, at)
            except IndexError:
                if len(data) - at > _MOST_HEADER:
                    raise ValueError("the header of a page has no end") from None
                self.begun, at = data[at:], len(data)
                break
            packed, unpacked, values = _sizes(header)
            yield unpacked, values, _is_delta(header)
            at = end + packed
        self.left = at - len(data)


def _sizes(header: dict[int, Any]) -> tuple[int, int, int]:
    """Return the bytes of a page as it is stored and unpacked, and how many values it has."""
    counts = [header[kind].get(1) for kind in _KINDS if isinstance(header.get(kind), dict)]
    numbers = [header.get(3), header.get(2), header.get(1), *counts]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ValueError("the header of a page has no sizes")
    return numbers[0], numbers[1], max(counts, default=0)


def _is_delta(header: dict[int, Any]) -> bool:
    parts = ((header.get(kind), place) for kind, place in _KINDS.items())
    return any(isinstance(p, dict) and p.get(at) in _DELTAS for p, at in parts)


def _read_struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Read a structure of Thrift's compact protocol; IndexError where it goes on beyond the data.

    Whole numbers and structures are returned by the number of their field; the rest is passed over.
    """
    if depth > _MOST_DEPTH:
        raise ValueError("the header of a page is nested too deeply")
    found: dict[int, Any] = {}
    field = 0
    while kind := data[at]:
        at += 1
        if kind >> 4:
            field += kind >> 4
        else:
            field, at = _read_number(data, at)
        found[field], at = _read_value(data, at, kind & 15, depth)
    return found, at + 1


def _read_value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _WIDTHS:
        return None, at + _WIDTHS[kind]
    if kind in (4, 5, 6):
        return _read_number(data, at)
    if kind == 8:
        length, at = _read_varint(data, at)
        return None, at + length
    if kind in (9, 10):
        of, count = data[at] & 15, data[at] >> 4
        at += 1
        if count == 15:
            count, at = _read_varint(data, at)
        for _ in range(count):
            _, at = (None, at + 1) if of in (1, 2) else _read_value(data, at, of, depth)
            if at > len(data):
                raise IndexError
        return None, at
    if kind == 12:
        return _read_struct(data, at, depth + 1)
    raise ValueError("the header of a page is damaged")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("the header of a page is damaged")


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _read_varint(data, at)
    return value >> 1 ^ -(value & 1), at

"""What the record batches of an Arrow file hold once they are unpacked, told before they are.

A batch of a few kilobytes may stand for gigabytes, as its buffers may be compressed. Each begins
with its length, and PyArrow takes that much memory before it looks further. The messages around the
batches are flatbuffers, of which this reads the few fields it needs.
"""

import struct
from dataclasses import dataclass
from typing import Any

_MAGIC = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"
# Kinds of messages, and the places of fields in their tables, as Arrow's format has them.
_DICTIONARY, _BATCH = 2, 3
_VERSION, _KIND, _HEADER, _BODY_LENGTH, _NOTES = range(5)
_VERSION_5 = 4
_ROWS, _BUFFERS, _COMPRESSION = 0, 2, 3
_DATA = 1
_DICTIONARIES, _BATCHES = 2, 3


@dataclass(frozen=True)
class Message:
    """Rows of a record batch or dictionary, and the bytes of its buffers once unpacked."""

    rows: int
    size: int


@dataclass(frozen=True)
class Block:
    """Where a message begins, and its size without its body."""

    place: int
    size: int


class ArrowMessages:
    """The messages of a file or stream: where dictionaries and batches begin."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._length = file.seek(0, 2)
        self.is_file = self._read(0, len(_MAGIC)) == _MAGIC
        self.dictionaries, self.batches = self._in_footer() if self.is_file else self._in_order()

    def _read(self, place: int, size: int) -> bytes:
        if place < 0 or size < 0 or place + size > self._length:
            raise ValueError("it refers to bytes beyond its end")
        self._file.seek(place)
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise ValueError("it became shorter while it was read")
        return data

    def _in_footer(self) -> list[list[Block]]:
        tail = 4 + len(_MAGIC)
        size, magic = struct.unpack(f"<i{len(_MAGIC)}s", self._read(self._length - tail, tail))
        if magic != _MAGIC:
            raise ValueError("its end is missing")
        footer = _Table.root(self._read(self._length - tail - size, size))
        return [
            [Block(*each) for each in footer.vector(field, "<qi12x")]
            for field in (_DICTIONARIES, _BATCHES)
        ]

    def _in_order(self) -> list[list[Block]]:
        found: dict[int, list[Block]] = {_DICTIONARY: [], _BATCH: []}
        place = 0
        while place < self._length:
            message, size = self._message(place)
            if message is None:
                break
            found.setdefault(message.number(_KIND, "B"), []).append(Block(place, size))
            place += size + message.number(_BODY_LENGTH, "q")
        return [found[_DICTIONARY], found[_BATCH]]

    def _message(self, place: int) -> "tuple[_Table | None, int]":
        """Return a message and its size without its body; None for the end of a stream."""
        start = 4 + 4 * (self._read(place, 4) == _CONTINUED)
        (size,) = struct.unpack("<i", self._read(place + start - 4, 4))
        if size == 0:
            return None, start
        message = _Table.root(self._read(place + start, size))
        if message.number(_BODY_LENGTH, "q") < 0:
            raise ValueError("a batch has no length")
        return message, start + size

    def measure(self, block: Block) -> Message:
        """Return what a batch or a dictionary holds."""
        message, _ = self._message(block.place)
        if message is None or (header := message.table(_HEADER)) is None:
            raise ValueError("a batch is missing")
        if message.number(_VERSION, "h") < _VERSION_5 and message.table(_NOTES) is not None:
            raise ValueError("it may be compressed as Arrow was before version 1.0")
        if message.number(_KIND, "B") == _DICTIONARY and (data := header.table(_DATA)) is not None:
            header = data
        buffers = header.vector(_BUFFERS, "<qq")
        sizes = [size for _, size in buffers]
        if header.table(_COMPRESSION) is not None:
            sizes = [self._unpacked(block.place + block.size + at, size) for at, size in buffers]
        rows = header.number(_ROWS, "q")
        if min([rows, *sizes]) < 0:
            raise ValueError("a batch has a negative size")
        return Message(rows, sum(sizes))

    def _unpacked(self, place: int, size: int) -> int:
        if size == 0:
            return 0
        (unpacked,) = struct.unpack("<q", self._read(place, 8))
        return size if unpacked == -1 else int(unpacked)  # -1: stored as it is


def open_ipc(file: Any, messages: ArrowMessages) -> Any:
    """Open a file or stream with PyArrow, once its messages are known."""
    import pyarrow as pa

    file.seek(0)
    return (pa.ipc.open_file if messages.is_file else pa.ipc.open_stream)(file)


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer: fields by number, each present or not."""

    data: bytes
    place: int

    @classmethod
    def root(cls, data: bytes) -> "_Table":
        return cls(data, _unpack("<I", data, 0))

    def _field(self, number: int) -> int | None:
        """Return the place of a field."""
        fields = self.place - _unpack("<i", self.data, self.place)
        offset = 4 + 2 * number
        if offset + 2 > _unpack("<H", self.data, fields):
            return None
        found = _unpack("<H", self.data, fields + offset)
        return self.place + found if found else None

    def number(self, field: int, kind: str) -> int:
        place = self._field(field)
        return 0 if place is None else _unpack(f"<{kind}", self.data, place)

    def table(self, field: int) -> "_Table | None":
        place = self._field(field)
        return None if place is None else _Table(self.data, place + _unpack("<I", self.data, place))

    def vector(self, field: int, kind: str) -> list[tuple[int, ...]]:
        """Return the parts of a vector, each unpacked."""
        place = self._field(field)
        if place is None:
            return []
        start = place + _unpack("<I", self.data, place)
        end = start + 4 + struct.calcsize(kind) * _unpack("<I", self.data, start)
        if end > len(self.data):
            raise ValueError("a list of a message goes on beyond its end")
        return list(struct.iter_unpack(kind, self.data[start + 4 : end]))


def _unpack(kind: str, data: bytes, place: int) -> int:
    if place < 0:  # which Python would count from the end
        raise ValueError("a message refers to bytes before it")
    try:
        return int(struct.unpack_from(kind, data, place)[0])
    except struct.error as error:
        raise ValueError("a message refers to bytes beyond its end") from error

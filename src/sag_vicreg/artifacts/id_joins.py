"""Two tables joined by id without holding either: hash partitions on disk.

Each row leaves a record, the hash of its id and its number, in the partition its hash names. Equal
ids of two tables lie in partitions of the same number, and one pair of these fits into memory.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from io import BytesIO
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Ints
from sag_vicreg.artifacts.embedding_tables import EmbeddingTable
from sag_vicreg.artifacts.id_hashes import Hashes
from sag_vicreg.errors import InputError

Records = npt.NDArray[np.void]

# 128 bits of hash: two of a billion ids share them once in 10**20 tables.
_RECORD = np.dtype([("first", "u8"), ("second", "u8"), ("row", "i8")])
# What a partition of two tables may take while it is sorted and compared, in copies of its records.
_COPIES = 8
PARTITION_BYTES = 64 << 20
_MOST_PARTITIONS = 256


class HashPartitions:
    """Records of rows by a hash of 128 bits, partitioned on disk for up to ``rows`` of them.

    The files have no name: they are gone when the process is, however it ends. What is ``held`` in
    memory anyway keeps its records there too.
    """

    def __init__(
        self, rows: int, *, held: bool = False, partition_bytes: int = PARTITION_BYTES
    ) -> None:
        needed = rows * _RECORD.itemsize * _COPIES
        self.count = int(min(max(1, -(-needed // partition_bytes)), _MOST_PARTITIONS))
        self._new_file: Callable[[], IO[bytes]] = BytesIO if held else tempfile.TemporaryFile

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        try:
            self._files = [self._stack.enter_context(self._new_file()) for _ in range(self.count)]
        except OSError as error:
            self._stack.close()
            raise _no_room(error) from error
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def add(self, first: Hashes, second: Hashes, rows: Ints) -> None:
        """Add rows by two independent hashes."""
        records = np.empty(len(first), _RECORD)
        records["first"], records["second"], records["row"] = first, second, rows
        # By bits that do not choose rows: a partition holds a sample of every choice.
        where = (second % np.uint64(self.count)).astype(np.int64)
        records = records[np.argsort(where, kind="stable")]
        ends = np.cumsum(np.bincount(where, minlength=self.count))
        try:
            for file, part in zip(self._files, np.split(records, ends[:-1]), strict=True):
                file.write(part.tobytes())
        except OSError as error:
            raise _no_room(error) from error

    def sorted(self, number: int) -> Records:
        """Read one partition, ascending by hash."""
        file = self._files[number]
        file.seek(0)
        return _in_order(np.frombuffer(file.read(), _RECORD))

    @property
    def repeats(self) -> int:
        """How many rows have the hash of an earlier one."""
        return sum(len(each) - len(_distinct(each)) for each in map(self.sorted, range(self.count)))


def count_common(every: Sequence[HashPartitions]) -> int:
    """Count the hashes that are in all of several sets, partitioned alike."""
    total, others = 0, len(every) - 1
    for number in range(every[0].count):
        distinct = [_distinct(partitions.sorted(number)) for partitions in every]
        together = _in_order(np.concatenate(distinct))
        total += int(_same(together[others:], together[: len(together) - others]).sum())
    return total


def _distinct(records: Records) -> Records:
    """Return the first of those that share a hash, of records in order."""
    return np.append(records[:1], records[1:][~_same(records[1:], records[:-1])])


class IdPartitions(HashPartitions):
    """The ids of one table, partitioned for tables of up to ``rows`` rows."""

    def __init__(
        self, table: EmbeddingTable, rows: int, *, partition_bytes: int = PARTITION_BYTES
    ) -> None:
        super().__init__(rows, partition_bytes=partition_bytes)
        self.table = table

    def sorted(self, number: int) -> Records:
        """Read one partition, ascending by hash; refuse an id that is in it twice."""
        records = super().sorted(number)
        same = _same(records[1:], records[:-1])
        if same.any():
            place = int(np.argmax(same))
            one, other = sorted(records["row"][place : place + 2].tolist())
            raise InputError(
                f"id '{self.table.id_of(one)}' is repeated in {self.table.name} (row "
                f"{self.table.place_of(one)} and row {self.table.place_of(other)}): "
                "ids must be unique"
            )
        return records


def _in_order(records: Records) -> Records:
    return records[np.lexsort((records["second"], records["first"]))]


def _same(one: Records, other: Records) -> npt.NDArray[np.bool_]:
    return np.asarray((one["first"] == other["first"]) & (one["second"] == other["second"]))


def _no_room(error: OSError) -> InputError:
    return InputError(
        f"cannot write temporary files to {tempfile.gettempdir()}: {error.strerror}; free space, "
        "or set TMPDIR to another folder"
    )


def join_rows(a: IdPartitions, b: IdPartitions) -> Iterator[tuple[Ints, Ints]]:
    """Yield the row numbers of equal ids in both tables, partition by partition.

    Raises
    ------
    InputError
        An id is repeated in a table, or missing from one.
    """
    missing: dict[IdPartitions, tuple[int, str]] = {b: (0, ""), a: (0, "")}
    for number in range(a.count):
        one, other = a.sorted(number), b.sorted(number)
        if len(one) == len(other) and _same(one, other).all():
            yield one["row"], other["row"]
            continue
        for has, lacks, records, among in ((a, b, one, other), (b, a, other, one)):
            alone = records["row"][~np.isin(records["first"], among["first"])]
            if len(alone):
                known, example = missing[lacks]
                example = example or has.table.id_of(int(alone.min()))
                missing[lacks] = known + len(alone), example
    for lacks, (count, example) in missing.items():
        if count:
            raise InputError(
                f"id '{example}' is missing from {lacks.table.name} ({count:,} missing in all): "
                "keep only the rows both tables have"
            )


def check_ids(a: IdPartitions, b: IdPartitions) -> None:
    """Refuse tables that do not hold the same ids, each once."""
    for _ in join_rows(a, b):
        pass

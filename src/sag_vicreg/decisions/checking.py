"""Checks of sets in memory and of tables that are not held: passes over pieces, summed up."""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Floats
from sag_vicreg.artifacts import Embeddings, EmbeddingTable
from sag_vicreg.artifacts.embedding_tables import room_beside_reading
from sag_vicreg.artifacts.held_tables import HeldTable, as_table
from sag_vicreg.artifacts.id_hashes import Hashes, hash_parts, hash_positions, limit_of_first
from sag_vicreg.artifacts.id_joins import HashPartitions, count_common
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.decisions.checks import JoinCheck, SetCheck
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure.memory import gigabytes
from sag_vicreg.structure.parallel import Workers, blocks

# Cosine from which two rows that are not equal count as near duplicates.
NEAR = 0.9999
# All pairs of more rows would take longer than the comparison itself: a sample is looked at.
MOST_PAIRED, _FEWEST_PAIRED = 10_000, 100
MOST_NORMS = 100_000
_ROWS = 256
# How far a norm may lie from 1 in a set that was normalised, in float16 too.
_UNIT = 2e-3
# Copies of the sampled rows while they are put together.
_SAMPLE_COPIES = 3


class _Seen(NamedTuple):
    """What one block of rows holds, or all together; rows with NaN count as such only."""

    not_finite: int
    zero: int
    whole: bool
    norms: tuple[float, float]
    low: Floats
    high: Floats

    @classmethod
    def together(cls, parts: "Sequence[_Seen]") -> "_Seen":
        """Sum up in the order of the rows."""
        return cls(
            sum(part.not_finite for part in parts),
            sum(part.zero for part in parts),
            all(part.whole for part in parts),
            (min(part.norms[0] for part in parts), max(part.norms[1] for part in parts)),
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
        )


class _Sampled(NamedTuple):
    """Rows of a block: digests of all that are finite, and what is kept of a random few.

    ``norms`` are of rows chosen by their number, ``points`` unit vectors chosen by their digest, so
    that equal rows are chosen together.
    """

    digests: Hashes
    rows: npt.NDArray[np.int64]
    norms: Floats
    points: npt.NDArray[np.float32]
    point_digests: Hashes


def check_set(
    source: Embeddings | EmbeddingTable,
    name: str,
    *,
    memory: int | None = None,
    passes: Passes | None = None,
    most_paired: int = MOST_PAIRED,
    most_norms: int = MOST_NORMS,
) -> SetCheck:
    """Look for faults and oddities in a set, or in a table that is not held.

    Parameters
    ----------
    source
        Embeddings in memory, or a table from :func:`~sag_vicreg.artifacts.open_table`, which is
        passed over once, its ids once more.
    name
        What to call it.
    memory
        Bytes the process may hold in all; with less of it fewer rows are searched for near
        duplicates.
    passes
        Where the passes run; by default on the threads of this process.
    most_paired, most_norms
        Of more rows than this, a random sample is searched for near duplicates, and gives the
        median length.

    Examples
    --------
    >>> x = np.eye(4)[[0, 1, 1, 2]]
    >>> check_set(Embeddings(x), "x").oddities[:2]
    ('1 row repeats an earlier row exactly', '1 dimension never changes')
    """
    table, passes = as_table(source), passes or Passes()
    most = _most_paired(table, most_paired, memory, passes.count)
    seen: list[_Seen] = []
    kept = []
    held = isinstance(table, HeldTable)
    bar = None if held else f"rows of {name}"
    with HashPartitions(table.rows, held=held) as digests:
        task = partial(look, table=table, most_paired=most, most_norms=most_norms)
        for part, sampled in chain.from_iterable(passes.map(task, table.pieces, bar=bar)):
            # One at a time: blocks are many, and each has a lowest and a highest vector.
            seen = [_Seen.together([*seen, part])]
            digests.add(sampled.digests[:, 0], sampled.digests[:, 1], sampled.rows)
            kept.append((sampled.norms, sampled.points, sampled.point_digests))
        duplicates = digests.repeats
    (whole,) = seen
    lengths, points, point_digests = map(np.concatenate, zip(*kept, strict=True))
    # The first of equal points, and of these the lowest in the order of digests, by row.
    _, first = np.unique(point_digests[:, 0], return_index=True)
    some = points[np.sort(first[:most])]
    finite = table.rows - whole.not_finite
    # Zeros repeat one another too, and are not looked for.
    distinct = finite - whole.zero - (duplicates - max(whole.zero - 1, 0))
    empty, repeated = _check_ids(table, name, passes) if table.has_ids else (0, 0)
    labels, stored = (
        (source.labels, source.stored) if isinstance(source, Embeddings) else (None, None)
    )
    return SetCheck(
        name=name,
        rows=table.rows,
        dimensions=table.dimensions,
        dtype=str(stored or table.dtype),
        labels=None if labels is None else len(np.unique(labels)),
        whole_numbers=finite > 0 and whole.whole,
        has_ids=table.has_ids,
        empty_ids=empty,
        repeated_ids=repeated,
        not_finite=whole.not_finite,
        zero=whole.zero,
        norms=(whole.norms[0], float(np.median(lengths)), whole.norms[1]) if len(lengths) else None,
        normalised=finite > 0 and all(abs(norm - 1) <= _UNIT for norm in whole.norms),
        duplicates=duplicates,
        near_duplicates=_near_duplicates(some),
        sampled=len(some) if len(some) < distinct else None,
        constant_dimensions=int((whole.low == whole.high).sum()),
    )


def look(
    piece: Piece, *, table: EmbeddingTable, most_paired: int, most_norms: int
) -> list[tuple[_Seen, _Sampled]]:
    """Look at the rows of one piece, block by block."""
    limits = limit_of_first(most_paired, table.rows), limit_of_first(most_norms, table.rows)
    return [_look_at(x, start, *limits) for start, x in table.blocks(piece, finite=False)]


def _look_at(
    vectors: npt.NDArray[np.generic], start: int, highest_digest: np.uint64, highest_rank: np.uint64
) -> tuple[_Seen, _Sampled]:
    finite = np.isfinite(vectors).all(axis=1)
    known = vectors[finite].astype(np.float64)
    largest = np.abs(known).max(axis=1, initial=0.0)
    # By the largest entry first: squares of very large or small entries leave float64's range.
    scaled = known / np.where(largest > 0, largest, 1.0)[:, None]
    lengths = np.linalg.norm(scaled, axis=1)
    norms = lengths * largest
    digests = row_digests(known)
    ranks = hash_positions(start, start + len(vectors))[finite]
    chosen = np.flatnonzero((digests[:, 0] <= highest_digest) & (largest > 0))
    # Of equal rows the first alone: there may be millions.
    chosen = chosen[np.sort(np.unique(digests[chosen, 0], return_index=True)[1])]
    seen = _Seen(
        not_finite=len(vectors) - len(known),
        zero=int((largest == 0).sum()),
        whole=bool((known == np.rint(known)).all()),
        norms=(float(norms.min(initial=np.inf)), float(norms.max(initial=-np.inf))),
        low=known.min(axis=0, initial=np.inf),
        high=known.max(axis=0, initial=-np.inf),
    )
    return seen, _Sampled(
        digests=digests,
        rows=start + np.flatnonzero(finite),
        norms=norms[ranks <= highest_rank],
        points=(scaled[chosen] / lengths[chosen, None]).astype(np.float32),
        point_digests=digests[chosen],
    )


def row_digests(rows: Floats) -> Hashes:
    """Return a digest of 128 bits of each row, as two hashes, (n, 2)."""
    rows = rows + 0.0  # -0.0 and 0.0 are one number in two patterns of bits
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows)
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


def _near_duplicates(points: npt.NDArray[np.float32]) -> int:
    """Count unit vectors very near an earlier one."""

    def count(rows: slice) -> int:
        cosines = points[rows] @ points[: rows.stop].T
        earlier = np.arange(rows.stop) < np.arange(rows.start, rows.stop)[:, None]
        return int(((cosines > NEAR) & earlier).any(axis=1).sum())

    with Workers(len(points)) as workers:
        return sum(workers.map(count, blocks(len(points), _ROWS)))


def _most_paired(table: EmbeddingTable, most: int, memory: int | None, threads: int) -> int:
    """Return how many rows may be held to look for near duplicates."""
    if memory is None or isinstance(table, HeldTable):
        return most
    room = room_beside_reading(memory, threads)
    row = table.dimensions * 4 * _SAMPLE_COPIES
    fitting = min(most, room // row)
    if fitting < _FEWEST_PAIRED:
        raise InputError(
            f"a memory of {gigabytes(memory)} is too small for a check: give at least "
            f"{gigabytes(memory - room + _FEWEST_PAIRED * row)}"
        )
    return fitting


def _hash_ids(piece: Piece, *, table: EmbeddingTable) -> tuple[Hashes, ...]:
    """Return two hashes of each id of a piece that is not empty."""
    import pyarrow.compute as pc

    return hash_parts((ids.filter(pc.not_equal(ids, "")) for ids in table.ids(piece)), (0, 1))


def _partition_ids(
    table: EmbeddingTable, partitions: HashPartitions, passes: Passes, bar: str
) -> int:
    """Add every id to ``partitions``; return how many are empty."""
    known = 0
    task = partial(_hash_ids, table=table)
    for first, second in passes.map(
        task, table.pieces, bar=None if isinstance(table, HeldTable) else bar
    ):
        partitions.add(first, second, np.zeros(len(first), np.int64))
        known += len(first)
    return table.rows - known


def _check_ids(table: EmbeddingTable, name: str, passes: Passes) -> tuple[int, int]:
    """Count the ids that are empty, and those that an earlier row has."""
    with HashPartitions(table.rows, held=isinstance(table, HeldTable)) as partitions:
        empty = _partition_ids(table, partitions, passes, f"ids of {name}")
        return empty, partitions.repeats


def check_join(
    sources: Sequence[Embeddings | EmbeddingTable], *, passes: Passes | None = None
) -> JoinCheck:
    """Say how the rows of several sets find each other; refuse nothing."""
    tables, passes = [as_table(source) for source in sources], passes or Passes()
    sizes = [table.rows for table in tables]
    if all(table.has_ids for table in tables):
        held = all(isinstance(table, HeldTable) for table in tables)
        with ExitStack() as stack:
            every = [stack.enter_context(HashPartitions(max(sizes), held=held)) for _ in tables]
            for table, partitions in zip(tables, every, strict=True):
                _partition_ids(table, partitions, passes, "ids")
            common = count_common(every)
        return JoinCheck("id", common, tuple(size - common for size in sizes))
    if len(set(sizes)) > 1:
        return JoinCheck("position", None, tuple(sizes))
    return JoinCheck("position", sizes[0], (0,) * len(sizes))

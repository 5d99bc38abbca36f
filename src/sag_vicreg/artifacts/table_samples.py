"""Some rows of tables that are not held: by their numbers, or the same random items of several."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Array, Ints
from sag_vicreg.artifacts.embedding_tables import EmbeddingTable
from sag_vicreg.artifacts.embeddings import Embeddings, as_floats
from sag_vicreg.artifacts.id_hashes import Hashes, hash_again, limit_of_first
from sag_vicreg.artifacts.id_joins import IdPartitions, check_ids
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes


def sample_tables(
    tables: Sequence[EmbeddingTable],
    items: int,
    passes: Passes,
    *,
    seed: int,
    labelled: bool = False,
) -> list[Embeddings]:
    """Read the same ``items`` random items of several tables, all in one order.

    Items are chosen by the hash of their id in one pass over the ids, by their row number where a
    table has no ids; then only their rows are kept, in one pass over the vectors. The choice
    depends on ids and seed alone. Labels are read only where they are to be ``labelled``.

    Raises
    ------
    InputError
        The tables do not hold the same ids, each once, or without ids differ in length.
    """
    by_position = not all(table.has_ids for table in tables)
    check_lengths(tables, by_position=by_position)
    rows = max(table.rows for table in tables)
    with ExitStack() as stack:
        named = () if by_position else tables
        partitions = [stack.enter_context(IdPartitions(table, rows)) for table in named]
        every: Sequence[IdPartitions | None] = partitions or [None] * len(tables)
        chosen = [
            _choose(table, items, passes, seed=seed, partitions=ids)
            for table, ids in zip(tables, every, strict=True)
        ]
        for other in partitions[1:]:
            check_ids(partitions[0], other)
    return [
        Embeddings(
            as_floats(gather(table, of, passes)),
            ids_of(table, of, passes) if table.has_ids else None,
            labels_of(table, of, passes) if labelled and table.label_column else None,
        )
        for table, of in zip(tables, chosen, strict=True)
    ]


def check_lengths(tables: Sequence[EmbeddingTable], *, by_position: bool) -> None:
    """Refuse tables that cannot be matched row by row."""
    a = tables[0]
    for b in tables[1:] if by_position else ():
        if a.rows != b.rows:
            raise InputError(
                f"{a.name} has {a.rows:,} rows and {b.name} has {b.rows:,}: without ids on both "
                "sides rows are matched by position, so the numbers must be equal"
            )


def _choose(
    table: EmbeddingTable,
    items: int,
    passes: Passes,
    *,
    seed: int,
    partitions: IdPartitions | None,
) -> Ints:
    """Return the rows whose hashes are lowest, ascending by hash; add all ids to ``partitions``."""
    task = partial(_candidates, table=table, items=items, seed=seed, by_position=partitions is None)
    found = []
    every = passes.map(task, table.pieces, bar=f"ids of {table.name}")
    for piece, (ranks, rows, hashes) in zip(table.pieces, every, strict=True):
        found.append((ranks, rows))
        if partitions is not None:
            partitions.add(hashes[0], hashes[1], np.arange(piece.start, piece.stop))
    ranks, rows = (np.concatenate(column) for column in zip(*found, strict=True))
    return rows[np.argsort(ranks, kind="stable")[:items]]


def _candidates(
    piece: Piece, *, table: EmbeddingTable, items: int, seed: int, by_position: bool
) -> tuple[Hashes, Ints, tuple[Hashes, ...]]:
    hashes = table.hashes(piece, by_position=by_position, seeds=(0, 1))
    ranks = hash_again(hashes[0], seed=seed)
    near = ranks <= limit_of_first(items, table.rows)
    return ranks[near], piece.start + np.flatnonzero(near), hashes


def gather(table: EmbeddingTable, rows: Ints, passes: Passes) -> Array:
    """Read some rows of the table in one pass; return them in the order asked for."""
    found = np.empty((len(rows), table.dimensions), table.dtype)
    return _fill(found, rows, table, table.vectors, passes, bar=f"rows of {table.name}")


def ids_of(table: EmbeddingTable, rows: Ints, passes: Passes) -> npt.NDArray[np.str_]:
    """Read the ids of some rows in one pass; return them in the order asked for."""
    return _fill(np.empty(len(rows), np.object_), rows, table, table.ids, passes).astype(np.str_)


def labels_of(table: EmbeddingTable, rows: Ints, passes: Passes) -> Array:
    """Read the labels of some rows in one pass; return them in the order asked for."""
    found = _fill(np.empty(len(rows), np.object_), rows, table, table.labels, passes)
    return np.array(found.tolist())


def _fill(
    found: Array,
    rows: Ints,
    table: EmbeddingTable,
    read: Callable[[Piece], Iterable[Any]],
    passes: Passes,
    *,
    bar: str | None = None,
) -> Array:
    """Put into ``found`` what ``read`` reads of some rows, in the order asked for."""
    ascending = np.argsort(rows)
    wanted = rows[ascending]
    parts = np.split(wanted, np.searchsorted(wanted, [piece.start for piece in table.pieces[1:]]))
    tasks = [task for task in zip(table.pieces, parts, strict=True) if len(task[1])]
    filled = 0
    for part in passes.map(partial(_take, read=read), tasks, bar=bar):
        found[ascending[filled : filled + len(part)]] = part
        filled += len(part)
    return found


def _take(task: tuple[Piece, Ints], *, read: Callable[[Piece], Iterable[Any]]) -> Array:
    """Return some rows of a piece, by their ascending numbers in the whole table."""
    piece, rows = task
    found, start = [], piece.start
    for block in read(piece):
        here = rows[(rows >= start) & (rows < start + len(block))] - start
        # Of Arrow's texts only those asked for become objects of Python.
        taken = block[here] if isinstance(block, np.ndarray) else block.take(here)
        found.append(np.asarray(taken))
        start += len(block)
    return np.concatenate(found)

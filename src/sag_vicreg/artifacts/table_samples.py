"""Some rows of tables that are not held: by their numbers, or the same random items of several."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.embedding_tables import EmbeddingTable
from sag_vicreg.artifacts.embeddings import Embeddings, as_floats
from sag_vicreg.artifacts.id_hashes import Hashes, hash_again, limit_of_first
from sag_vicreg.artifacts.id_joins import IdPartitions, check_ids
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes

Ints = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]


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
    chosen = []
    with ExitStack() as stack:
        partitions: list[IdPartitions] = []
        for table in tables:
            ids = None if by_position else stack.enter_context(IdPartitions(table, rows))
            chosen.append(_choose(table, items, passes, seed=seed, partitions=ids))
            partitions += [] if ids is None else [ids]
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
            rows_here = np.arange(piece.start, piece.start + piece.rows)
            partitions.add(hashes[0], hashes[1], rows_here)
    ranks, rows = (np.concatenate(column) for column in zip(*found, strict=True))
    return rows[np.argsort(ranks, kind="stable")[:items]]


def _candidates(
    piece: Piece, *, table: EmbeddingTable, items: int, seed: int, by_position: bool
) -> tuple[Hashes, Ints, tuple[Hashes, ...]]:
    hashes = table.hashes(piece, by_position=by_position, seeds=(0, 1))
    ranks = hash_again(hashes[0], seed=seed)
    near = ranks <= limit_of_first(items, table.rows)
    return ranks[near], piece.start + np.flatnonzero(near), hashes


def gather(table: EmbeddingTable, rows: Ints, passes: Passes) -> Vectors:
    """Read some rows of the table in one pass; return them in the order asked for."""
    ascending = np.argsort(rows)
    found = np.empty((len(rows), table.dimensions), table.dtype)
    filled = 0
    tasks = _by_piece(table, rows[ascending])
    for part in passes.map(partial(_take, table=table), tasks, bar=f"rows of {table.name}"):
        found[ascending[filled : filled + len(part)]] = part
        filled += len(part)
    return found


def _by_piece(table: EmbeddingTable, rows: Ints) -> list[tuple[Piece, Ints]]:
    """Cut ascending row numbers by the piece they are in."""
    starts = [piece.start for piece in table.pieces]
    parts = np.split(rows, np.searchsorted(rows, starts[1:]))
    return list(zip(table.pieces, parts, strict=True))


def _take(wanted: tuple[Piece, Ints], *, table: EmbeddingTable) -> Vectors:
    return table.take(*wanted)


def ids_of(table: EmbeddingTable, rows: Ints, passes: Passes) -> npt.NDArray[np.str_]:
    """Read the ids of some rows in one pass; return them in the order asked for."""
    ascending = np.argsort(rows)
    parts = passes.map(partial(_take_ids, table=table), _by_piece(table, rows[ascending]))
    found = np.array(list(chain.from_iterable(parts)), dtype=np.str_)
    return found[np.argsort(ascending)]


def _take_ids(wanted: tuple[Piece, Ints], *, table: EmbeddingTable) -> list[str]:
    piece, rows = wanted
    found: list[str] = []
    start = piece.start
    for ids in table.ids(piece) if len(rows) else ():
        here = rows[(rows >= start) & (rows < start + len(ids))] - start
        found += ids.take(here).to_pylist()
        start += len(ids)
    return found


def labels_of(table: EmbeddingTable, rows: Ints, passes: Passes) -> Vectors:
    """Read the labels of some rows in one pass; return them in the order asked for."""
    ascending = np.argsort(rows)
    tasks = [wanted for wanted in _by_piece(table, rows[ascending]) if len(wanted[1])]
    found = np.concatenate(list(passes.map(partial(_take_labels, table=table), tasks)))
    return found[np.argsort(ascending)]


def _take_labels(wanted: tuple[Piece, Ints], *, table: EmbeddingTable) -> Vectors:
    piece, rows = wanted
    return np.concatenate(list(table.labels(piece)))[rows - piece.start]

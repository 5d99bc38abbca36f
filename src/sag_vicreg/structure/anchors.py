"""Which rows of a table grow in which tree: anchors in every tree, others in one.

A row is chosen by the hash of its id. Each hash puts the ids in a random order, the same in every
table that has them; from its start come the anchors, then the others of split after split. When an
order is used up, another hash gives the next.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sag_vicreg.arrays import Ints
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.id_hashes import Hashes, hash_again, limit_of_first
from sag_vicreg.artifacts.id_joins import IdPartitions, check_ids
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure.forest import FEWEST_ROWS, LIMIT_OF_ITEMS, MOST_TREES_OF_A_PAIR

Candidates = tuple[Hashes, Hashes, Ints]
"""Of some rows: rank in an order, key, and number in the table."""


@dataclass(frozen=True)
class AnchorPlan:
    """How many of what: sets of anchors, trees of each set, leaves of a tree.

    Parameters
    ----------
    rows
        Of the table.
    anchors
        Items that are in every tree of a set; only pairs of them are scored.
    leaves
        Of each tree, m: the anchors and m - anchors other items.
    trees
        Of each set, a multiple of 4: the others of two trees are disjoint, and these pairs of trees
        come in two groups.
    sets
        Sets of anchors, each with trees of its own; the spread of their scores is the error.
    """

    rows: int
    anchors: int = 1_000
    leaves: int = 5_000
    trees: int = 40
    sets: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sets < 2:
            raise InputError(f"{self.sets} set of anchors: an error needs at least 2")
        if self.anchors < FEWEST_ROWS:
            raise InputError(f"{self.anchors} anchors: give at least {FEWEST_ROWS}")
        if self.anchors > LIMIT_OF_ITEMS:
            raise InputError(f"{self.anchors} anchors: give at most {LIMIT_OF_ITEMS:,}")
        if self.trees > MOST_TREES_OF_A_PAIR:
            raise InputError(
                f"{self.trees} trees: with anchors, which every tree holds, at most "
                f"{MOST_TREES_OF_A_PAIR:,}"
            )
        if self.leaves < 2 * self.anchors:
            raise InputError(
                f"{self.leaves} leaves for {self.anchors} anchors: give at least twice as many, "
                "for half of a tree must be other items"
            )
        if self.rows < (needed := max(self.sets * self.anchors + self.per_split, self.per_chunk)):
            raise InputError(
                f"{self.rows:,} rows: {self.sets} sets of {self.anchors:,} anchors in trees of "
                f"{self.leaves:,} leaves need at least {needed:,}; lower anchors or leaves"
            )

    @property
    def per_split(self) -> int:
        """Other items of two trees."""
        return 2 * (self.leaves - self.anchors)

    @property
    def per_chunk(self) -> int:
        """Items of a later order that leave enough for a split whichever of them are anchors."""
        return self.per_split + self.anchors

    @property
    def splits(self) -> int:
        """Pairs of trees, of all sets together; split s belongs to set s modulo ``sets``."""
        return self.sets * self.trees // 2

    @property
    def orders(self) -> list[range]:
        """The splits that each order of the ids serves."""
        first = min((self.rows - self.sets * self.anchors) // self.per_split, self.splits)
        step = self.rows // self.per_chunk
        later = [
            range(start, min(start + step, self.splits))
            for start in range(first, self.splits, step)
        ]
        return [range(first), *later]

    def chunks(self, order: int) -> range:
        """Return where in an order the ids of its splits begin; those of the anchors come first."""
        first, step = (0, self.per_chunk) if order else (self.sets * self.anchors, self.per_split)
        return range(first, first + len(self.orders[order]) * step, step)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows of one table that take part.

    Attributes
    ----------
    keys : (items,) uint64
        Hash of each item's id, ascending: the same in every table.
    rows : (items,) int64
        Where each item stands in this table.
    anchors : (sets, anchors) int64
        Items of each set, as places in ``keys``.
    others : (splits, 2, leaves - anchors) int64
        Further items of the two trees of each split.
    """

    plan: AnchorPlan
    keys: Hashes
    rows: Ints
    anchors: Ints = field(repr=False)
    others: Ints = field(repr=False)

    def trees(self, split: int) -> Iterator[tuple[int, int, Ints]]:
        """Yield set, number within the set, and items, anchors first, of a split's two trees."""
        which, place = split % self.plan.sets, split // self.plan.sets
        for side in (0, 1):
            others = self.others[split, side]
            yield which, 2 * place + side, np.concatenate([self.anchors[which], others])


def choose(
    table: EmbeddingTable, plan: AnchorPlan, passes: Passes, *, by_position: bool = False
) -> Chosen:
    """Choose the rows of a table in one pass over its ids."""
    return _arrange(plan, _pass_over_ids(table, plan, passes, by_position=by_position))


def _pass_over_ids(
    table: EmbeddingTable,
    plan: AnchorPlan,
    passes: Passes,
    *,
    by_position: bool = False,
    partitions: IdPartitions | None = None,
) -> list[list[Candidates]]:
    """Return what may be chosen of each piece; add all ids to ``partitions``."""
    task = partial(_candidates, table=table, plan=plan, by_position=by_position)
    found = []
    every = passes.map(task, table.pieces, bar=f"ids of {table.name}")
    for piece, (near, hashes) in zip(table.pieces, every, strict=True):
        found.append(near)
        if partitions is not None:
            partitions.add(*hashes, np.arange(piece.start, piece.start + piece.rows))
    return found


def _arrange(plan: AnchorPlan, found: list[list[Candidates]]) -> Chosen:
    """Put candidates in the orders of their ids, and say which tree takes which."""
    taken = []
    for order in range(len(plan.orders)):
        ranks, keys, rows = (
            np.concatenate(column) for column in zip(*(part[order] for part in found), strict=True)
        )
        lowest = np.lexsort((keys, ranks))[: plan.chunks(order).stop]
        taken.append((keys[lowest], rows[lowest]))
    keys, first = np.unique(np.concatenate([keys for keys, _ in taken]), return_index=True)
    rows = np.concatenate([rows for _, rows in taken])[first]
    places = [np.searchsorted(keys, order_keys) for order_keys, _ in taken]
    anchors = places[0][: plan.sets * plan.anchors].reshape(plan.sets, plan.anchors)
    others = np.empty((plan.splits, 2, plan.leaves - plan.anchors), np.int64)
    for order, splits in enumerate(plan.orders):
        chunks = plan.chunks(order)
        for split, start in zip(splits, chunks, strict=True):
            chunk = places[order][start : start + chunks.step]
            chunk = chunk[~np.isin(chunk, anchors[split % plan.sets])]
            others[split] = chunk[: plan.per_split].reshape(2, -1)
    return Chosen(plan, keys, rows, anchors, others)


def _candidates(
    piece: Piece, *, table: EmbeddingTable, plan: AnchorPlan, by_position: bool
) -> tuple[list[Candidates], tuple[Hashes, Hashes]]:
    """Return, for each order, rank, key and row of what may be among its first; and all hashes."""
    keys, second = table.hashes(piece, by_position=by_position, seeds=(0, 1))
    rows = np.arange(piece.start, piece.start + piece.rows)
    found = []
    for order in range(len(plan.orders)):
        ranks = hash_again(keys, seed=plan.seed * 1_000 + order)
        near = ranks <= limit_of_first(plan.chunks(order).stop, plan.rows)
        found.append((ranks[near], keys[near], rows[near]))
    return found, (keys, second)


def choose_from_both(
    a: EmbeddingTable, b: EmbeddingTable, plan: AnchorPlan, passes: Passes, *, by_position: bool
) -> tuple[Chosen, Chosen]:
    """Choose the same items from two tables; refuse tables that do not hold the same ids."""
    if by_position:
        return choose(a, plan, passes, by_position=True), choose(b, plan, passes, by_position=True)
    rows = max(a.rows, b.rows)
    with IdPartitions(a, rows) as ids_a, IdPartitions(b, rows) as ids_b:
        one = _pass_over_ids(a, plan, passes, partitions=ids_a)
        other = _pass_over_ids(b, plan, passes, partitions=ids_b)
        check_ids(ids_a, ids_b)
    return _arrange(plan, one), _arrange(plan, other)

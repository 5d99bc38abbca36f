"""Forests over a table of any size: Ward trees of anchors and other rows, kept as the anchors' own.

Every tree is of a uniform random sample of the table, so the number of rows enters only through
reading them. A pair of anchors is in every tree, so its average settles after a few.
"""

from dataclasses import replace

import numpy as np

from sag_vicreg.arrays import Array, Ints, Ints32
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.embedding_tables import BLOCK_BYTES, BLOCK_COPIES
from sag_vicreg.artifacts.table_samples import gather
from sag_vicreg.errors import InputError
from sag_vicreg.machine import release_memory, resident_bytes
from sag_vicreg.passes import Passes
from sag_vicreg.progress import progress_bar
from sag_vicreg.structure.anchors import Chosen
from sag_vicreg.structure.forest import Forest, merge_values
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.memory import gigabytes, tree_bytes
from sag_vicreg.structure.parallel import OneThread, Workers, blocks
from sag_vicreg.structure.points import as_points
from sag_vicreg.structure.ward import grow_tree


def anchored_forests(
    table: EmbeddingTable,
    chosen: Chosen,
    passes: Passes,
    *,
    geometry: str,
    distance: str,
    memory: int | None = None,
) -> list[Forest]:
    """Grow the trees of each set of anchors, reading the rows as often as ``memory`` requires.

    The trees are the same whatever the memory: less of it means more passes over the table.
    """
    plan = chosen.plan
    order = np.empty((plan.sets, plan.trees, plan.anchors), np.int32)
    value = np.empty((plan.sets, plan.trees, plan.anchors - 1), np.int32)
    with (
        Workers(plan.leaves) as workers,
        progress_bar(f"trees of {table.name}", plan.splits) as advance,
    ):
        for splits in _groups(table, chosen, geometry, memory, workers.count):
            items = _items(chosen, splits)
            vectors = gather(table, chosen.rows[items], passes)

            def grow(split: int, items: Ints = items, vectors: Array = vectors) -> None:
                for which, number, members in chosen.trees(split):
                    shuffled = np.random.default_rng([plan.seed, 6, which, number]).permutation(
                        plan.leaves
                    )
                    rows = vectors[np.searchsorted(items, members[shuffled])]
                    points = as_points(rows.astype(np.float64), geometry, table.name)
                    tree = grow_tree(points, geometry, OneThread())
                    order[which, number], value[which, number] = _pruned(
                        shuffled[tree.leaf_order].astype(np.int32),
                        merge_values(tree, distance)[tree.boundaries],
                        0,
                        plan.anchors,
                    )
                advance(1)

            workers.map(grow, splits)
    return [
        Forest(
            geometry=geometry,
            distance=distance,
            seed=plan.seed,
            n_rows=plan.rows,
            items=chosen.keys[chosen.anchors[which]].view(np.int64),
            order=order[which],
            value=value[which],
            half=np.empty((0, plan.anchors), np.int8),
            points=np.empty((0, table.dimensions)),
            leaves=plan.leaves,
        )
        for which in range(plan.sets)
    ]


def part_of_forest(forest: Forest, first: int, stop: int) -> Forest:
    """Return the forest of some anchors alone; what is said of their pairs does not change."""
    trees = [_pruned(*tree, first, stop) for tree in zip(forest.order, forest.value, strict=True)]
    order, value = (np.stack(part) for part in zip(*trees, strict=True))
    return replace(forest, items=forest.items[first:stop], order=order, value=value)


def _pruned(order: Ints32, value: Ints32, first: int, stop: int) -> tuple[Ints32, Ints32]:
    """Return leaf order and values of the tree of some items alone, numbered from ``first`` on."""
    n = stop - first
    leaves, above = np.empty(len(order), np.uint32), np.empty(len(order), np.int32)
    kernel("forest").prune(order, value, first, stop, leaves, above, np.empty(n, np.int64))
    return leaves[:n].astype(np.int32) - first, above[: n - 1]


def _items(chosen: Chosen, splits: range) -> Ints:
    """Return the items that some splits need, ascending."""
    sets = np.unique(np.array(splits) % chosen.plan.sets)
    return np.unique(
        np.concatenate([chosen.anchors[sets].reshape(-1), chosen.others[splits].reshape(-1)])
    )


def _groups(
    table: EmbeddingTable, chosen: Chosen, geometry: str, memory: int | None, threads: int
) -> list[range]:
    """Cut the splits into groups whose rows fit into the memory at once."""
    plan = chosen.plan
    if memory is None:
        return [range(plan.splits)]
    work = max(
        threads * tree_bytes(plan.leaves, table.dimensions, geometry),
        (threads + 2) * BLOCK_COPIES * BLOCK_BYTES,
    )
    release_memory()
    room = memory - resident_bytes() - work
    # Gathered, then sorted into place: rows exist twice for a moment.
    fitting = (room // (2 * table.row_bytes) - plan.sets * plan.anchors) // plan.per_split
    if fitting < 1:
        one = (plan.sets * plan.anchors + plan.per_split) * 2 * table.row_bytes
        raise InputError(
            f"a memory of {gigabytes(memory)} is too small for trees of {plan.leaves:,} leaves: "
            f"give at least {gigabytes(memory - room + one)}, or take fewer leaves"
        )
    return [range(plan.splits)[part] for part in blocks(plan.splits, fitting)]

"""The joint table of two trees: how many pairs have which LCA value in each."""

from dataclasses import dataclass

import numpy as np

from sag_vicreg.arrays import Array, Ints, Ints32, inverse
from sag_vicreg.errors import unknown_name
from sag_vicreg.progress import track
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.parallel import LONG, Workers
from sag_vicreg.structure.tree import Tree

Coded = tuple[Ints, Array]
"""Code of each merge of a tree, and the distance that each code stands for."""

LCA_DISTANCES = ("level", "path", "order", "height")
# A table of at most this many counts is kept whole; a larger one as its cells, or part by part.
WHOLE = 2**22
# Heights this much apart, relatively, differ by no more than rounding.
_EQUAL = 1e-12
# Pairs are counted in blocks of rows, in as many stages as a progress bar has steps.
_ROWS, _STAGES = 64, 16


def check_lca(lca: str) -> None:
    """Refuse an LCA distance that does not exist."""
    if lca not in LCA_DISTANCES:
        raise unknown_name("LCA distance", lca, LCA_DISTANCES)


@dataclass(frozen=True, eq=False)
class JointTable:
    """Counts of pairs by the value of their LCA in tree A (row) and tree B (column).

    Only cells that are not empty are kept, sorted by row; a cell may appear in pieces.
    ``values_a`` and ``values_b`` are the distances the rows and columns stand for, ascending.
    """

    cells: Ints32
    counts: Ints
    values_a: Array
    values_b: Array

    @classmethod
    def of(cls, table: Array, values_a: Array, values_b: Array) -> "JointTable":
        """Take a whole table as it is."""
        cells = np.argwhere(table).astype(np.int32, order="C")
        return cls(cells, table[table > 0].astype(np.int64), values_a, values_b)

    def dense(self) -> Ints:
        """Return the whole table, shape (values of A, values of B)."""
        table = np.zeros((len(self.values_a), len(self.values_b)), np.int64)
        np.add.at(table, (self.cells[:, 0], self.cells[:, 1]), self.counts)
        return table

    def histogram(self, bins: int = 48) -> tuple[Ints, Array, Array]:
        """Count pairs in at most ``bins`` by ``bins`` equal intervals, for a picture.

        Returns the counts and the edges of the intervals in A and in B.
        """
        edges = [_edges(values, bins) for values in (self.values_a, self.values_b)]
        values = self.values_a[self.cells[:, 0]], self.values_b[self.cells[:, 1]]
        # In floats, which hold every number of pairs exactly.
        counts = np.histogram2d(*values, edges, weights=self.counts)[0]
        return counts.astype(np.int64), edges[0], edges[1]


def _edges(values: Array, bins: int) -> Array:
    if values.dtype.kind == "i" and values[-1] - values[0] < bins:
        return np.arange(values[0], values[-1] + 2) - 0.5
    return np.linspace(values[0], values[-1], bins + 1)


def joint_table(
    tree_a: Tree, tree_b: Tree, lca: str, *, rows_of_b: Ints | None = None, whole: int = WHOLE
) -> JointTable:
    """Count all n(n - 1)/2 pairs, exactly and without listing them.

    ``rows_of_b[i]`` is the leaf of B that stands for leaf i of A; the same leaf if not given.
    A table of more than ``whole`` counts is made of its cells, or part by part.
    """
    rows = np.arange(tree_a.n) if rows_of_b is None else rows_of_b
    if lca == "path":
        return _count_paths(tree_a, tree_b, rows, whole)
    coded_a, coded_b = merge_codes(tree_a, lca), merge_codes(tree_b, lca)
    if _cost(tree_a, tree_b) <= _cost(tree_b, tree_a):
        return count_codes(tree_a, tree_b, coded_a, coded_b, rows, whole=whole)
    turned = count_codes(tree_b, tree_a, coded_b, coded_a, inverse(rows), whole=whole)
    cells, counts = _sorted_by_row(turned.cells[:, ::-1], turned.counts)
    return JointTable(cells, counts, turned.values_b, turned.values_a)


def _cost(tree: Tree, other: Tree) -> float:
    """Multiply the leaves that join others in one tree by the depth of the other."""
    joins = int(tree.sizes[tree.children].min(axis=1).sum())
    return joins * float(other.depths[: other.n].mean())


def merge_codes(tree: Tree, lca: str) -> Coded:
    """Return each merge's code, 0 and up in the order of its distance, and the codes' distances."""
    if lca == "level":
        levels = tree.levels[tree.n :]
        return levels - 1, np.arange(1, int(levels.max()) + 1)
    # Merges at one height come in an order that the order of the rows decides: they share a code.
    heights = tree.heights
    starts = np.concatenate([[0], 1 + np.flatnonzero(heights[1:] > heights[:-1] * (1 + _EQUAL))])
    codes = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(heights)))
    if lca == "order":
        return codes, np.append(starts[1:], len(heights))
    return codes, heights[starts]


def count_codes(
    tree_a: Tree,
    tree_b: Tree,
    coded_a: Coded,
    coded_b: Coded,
    rows_of_b: Ints,
    weights: Ints | None = None,
    *,
    whole: int = WHOLE,
) -> JointTable:
    """Count pairs by the codes of the merges where they meet; a leaf stands for ``weights`` items.

    Pairs of the items of one leaf are left out.
    """
    joint = kernel("joint")
    n = tree_a.n
    (codes_a, values_a), (codes_b, values_b) = coded_a, coded_b
    weights = np.ones(n, np.int64) if weights is None else weights
    shape = (len(values_a), len(values_b))
    small = shape[0] * shape[1] <= whole
    table = np.zeros(shape if small else (0, 0), np.int64)

    def count(cells: Ints32, counts: Ints) -> int:
        return int(
            joint.count_merges(
                tree_a.children,
                tree_a.sizes,
                tree_a.starts,
                tree_a.leaf_order,
                weights,
                codes_a,
                np.ascontiguousarray(tree_b.parents[:n][rows_of_b]),
                tree_b.parents[n:],
                codes_b,
                shape[1],
                table,
                cells,
                counts,
            )
        )

    room = count(np.empty((0, 2), np.int32), np.empty(0, np.int64))
    if small:
        return JointTable.of(table, values_a, values_b)
    cells, counts = np.empty((room, 2), np.int32), np.empty(room, np.int64)
    count(cells, counts)
    return JointTable(*_sorted_by_row(cells, counts), values_a, values_b)


def _sorted_by_row(cells: Ints32, counts: Ints) -> tuple[Ints32, Ints]:
    order = np.argsort(cells[:, 0], kind="stable")
    return np.ascontiguousarray(cells[order]), counts[order]


def _count_paths(tree_a: Tree, tree_b: Tree, rows_of_b: Ints, whole: int) -> JointTable:
    joint = kernel("joint")
    n = tree_a.n
    # Items are renumbered by their place in A's leaf order.
    leaves_b = rows_of_b[tree_a.leaf_order]
    place_b = tree_b.starts[leaves_b]
    item_b = inverse(place_b)
    depths_a = tree_a.depths[tree_a.leaf_order]
    depths_b = tree_b.depths[leaves_b]
    splits = [tree.depths[n:][tree.boundaries] for tree in (tree_a, tree_b)]
    longest_a, longest_b = 2 * int(depths_a.max()), 2 * int(depths_b.max())
    step = max(1, whole // (longest_b + 1))
    # Early places have more pairs than late ones: each worker takes every so-manieth block.
    stages = [range(stage, n, _STAGES * _ROWS) for stage in range(0, _STAGES * _ROWS, _ROWS)]
    parts = []
    with Workers() as workers:
        for first in range(0, longest_a + 1, step):
            tables = np.zeros((workers.count, min(step, longest_a + 1 - first), longest_b + 1), int)
            for starts in track(stages, "pairs") if n > LONG else stages:

                def count(
                    worker: int, starts: range = starts, first: int = first, tables: Ints = tables
                ) -> None:
                    lengths = np.empty(n, np.int64)
                    for start in starts[worker :: len(tables)]:
                        joint.count_paths(
                            start,
                            min(start + _ROWS, n),
                            depths_a,
                            splits[0],
                            depths_b,
                            splits[1],
                            place_b,
                            item_b,
                            lengths,
                            first,
                            tables[worker],
                        )

                workers.map(count, range(workers.count))
            table = tables.sum(axis=0)
            parts.append((np.argwhere(table) + np.array([first, 0]), table[table > 0]))
    cells, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    return JointTable(
        cells.astype(np.int32, order="C"),
        counts,
        np.arange(longest_a + 1),
        np.arange(longest_b + 1),
    )

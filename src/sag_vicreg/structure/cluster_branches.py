"""Branches of the one tree of all rows of a table, and what became of them in another table.

The leaves are micro-clusters, so that a branch is a set of rows given by a few numbers: which
micro-clusters it has, and through :func:`contingency`, where their rows are in the other table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.sparse import csr_array

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.passes import Passes
from sag_vicreg.structure.branches import FATES, NEARLY_ALL, judge
from sag_vicreg.structure.cluster_similarity import weighted_ward
from sag_vicreg.structure.micro_clusters import MicroClusters
from sag_vicreg.structure.table_points import points_of_piece
from sag_vicreg.structure.tree import Tree

PARTS = 8
"""Into which a branch opens, at most."""


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """The Ward tree over the k micro-clusters of a table.

    Nodes are numbered as SciPy does: 0 to k - 1 are micro-clusters, merge m is k + m, so that of
    several nodes the one with the largest number is the highest.
    """

    clusters: MicroClusters
    tree: Tree

    @classmethod
    def of(cls, clusters: MicroClusters) -> "ClusterTree":
        """Join the micro-clusters by Ward's method."""
        return cls(clusters, weighted_ward(clusters.means, clusters.sizes, clusters.geometry))

    @property
    def root(self) -> int:
        """The node of all rows."""
        return 2 * self.tree.n - 2

    @cached_property
    def rows(self) -> Ints:
        """Rows of the table under each node, shape (2k - 1,)."""
        return self.tree.under(self.clusters.sizes)

    def leaves(self, node: int) -> Ints:
        """Return the micro-clusters of a branch."""
        return self.tree.leaf_order[self.tree.starts[node] :][: self.tree.sizes[node]]

    def central(self, node: int, most: int) -> Ints:
        """Return the micro-clusters whose means are nearest to that of the branch."""
        leaves = self.leaves(node)
        means, sizes = self.clusters.means[leaves], self.clusters.sizes[leaves]
        apart = np.linalg.norm(means - np.average(means, axis=0, weights=sizes), axis=1)
        return leaves[np.argsort(apart, kind="stable")[:most]]

    def parts(self, node: int, most: int = PARTS) -> list[int]:
        """Divide a branch at its highest merges into at most so many, the largest first."""
        found = [node]
        while len(found) < most and (highest := max(found)) >= self.tree.n:
            found.remove(highest)
            found += self.tree.children[highest - self.tree.n].tolist()
        return sorted(found, key=lambda part: (-self.rows[part], part))

    def outline(self) -> list[tuple[int, range]]:
        """List all branches from the root down: each node, and the places of its parts."""
        nodes, parts = [self.root], []
        for node in nodes:  # which grows
            below = self.parts(node) if node >= self.tree.n else []
            parts.append(range(len(nodes), len(nodes) + len(below)))
            nodes += below
        return list(zip(nodes, parts, strict=True))


def fates(old: ClusterTree, new: ClusterTree, counts: csr_array, nodes: Sequence[int]) -> list[str]:
    """Say of branches of the old tree what they are in the new one, as ``branches.fates`` does.

    ``counts`` are of both trees' micro-clusters, from :func:`contingency`.
    """
    found = []
    total = int(new.rows[new.root])
    for node in nodes:
        inside = _inside(old, new, counts, node)
        size = inside[new.root]
        # Branches that hold nearly all of it are nested; the smallest one comes last.
        holding = np.flatnonzero(inside >= NEARLY_ALL * size)
        smallest = holding[np.argmin(new.rows[holding])]
        jaccard = (inside[holding] / (new.rows[holding] + size - inside[holding])).max()
        outside = int(new.rows[smallest] - inside[smallest])
        pieces = _pieces(new, inside)
        found.append(
            (
                jaccard,
                inside[smallest] / new.rows[smallest],
                outside / max(total - size, 1),
                inside[pieces].sum() / size,
                len(pieces),
            )
        )
    said = judge(np.array(found).reshape(-1, 5)).argmax(axis=0)
    return [FATES[which] for which in said]


def _pieces(new: ClusterTree, inside: Ints) -> list[int]:
    """Find the largest branches that are nearly all of a set, by how much of it each node has."""
    least = max(2, int(inside[new.root]) // 10)
    found: list[int] = []
    taken = np.zeros(new.tree.n, np.bool_)
    for node in np.flatnonzero((inside >= least) & (inside >= NEARLY_ALL * new.rows))[::-1]:
        first = new.tree.starts[node]
        if not taken[first]:
            taken[first : first + new.tree.sizes[node]] = True
            found.append(int(node))
    return found


def flow(
    old: ClusterTree,
    new: ClusterTree,
    counts: csr_array,
    sides: tuple[Sequence[int], Sequence[int]],
) -> Ints:
    """Count the rows of each branch of the old tree that are in each branch of the new one."""
    return np.stack([_inside(old, new, counts, node)[list(sides[1])] for node in sides[0]])


def _inside(old: ClusterTree, new: ClusterTree, counts: csr_array, node: int) -> Ints:
    """Count the rows of a branch of the old tree under each node of the new one."""
    return new.tree.under(counts[old.leaves(node)].sum(axis=0))


def central_rows(table: EmbeddingTable, clusters: MicroClusters, passes: Passes) -> Ints:
    """Return the row nearest to the mean of each micro-cluster, in one pass over the vectors."""
    nearest = np.full(len(clusters.sizes), np.inf)
    rows = np.empty(len(clusters.sizes), np.int64)
    task = partial(_nearest, table=table, clusters=clusters)
    for which, apart, places in passes.map(task, table.pieces, bar=f"examples of {table.name}"):
        closer = apart < nearest[which]
        nearest[which[closer]], rows[which[closer]] = apart[closer], places[closer]
    return rows


def _nearest(
    piece: Piece, *, table: EmbeddingTable, clusters: MicroClusters
) -> tuple[Ints, Floats, Ints]:
    """Return the micro-clusters that occur in a piece, and for each its nearest row there."""
    apart = np.empty(piece.rows)
    for rows, points in points_of_piece(piece, table, clusters.geometry):
        means = clusters.means[clusters.labels[rows]]
        apart[rows - piece.start] = ((points - means) ** 2).sum(axis=1)
    labels = clusters.labels[piece.start : piece.start + piece.rows].astype(np.int64)
    order = np.lexsort((apart, labels))
    which, first_of = np.unique(labels[order], return_index=True)
    nearest = order[first_of]
    return which, apart[nearest], piece.start + nearest

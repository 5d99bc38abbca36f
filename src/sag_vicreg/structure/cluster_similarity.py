"""Two tables compared by one tree each over all their rows: Ward trees of micro-clusters.

A pair of items in different micro-clusters gets the log size of its smallest common cluster, a pair
within one the log size of that, both over log(n). All n(n - 1)/2 pairs count, as cells: items that
share a micro-cluster in both tables are one leaf with a weight.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.id_joins import IdPartitions, join_rows
from sag_vicreg.artifacts.table_samples import check_lengths
from sag_vicreg.passes import Passes
from sag_vicreg.structure.joint import Coded, JointTable, count_codes
from sag_vicreg.structure.lca import LCASimilarity, similarity_of
from sag_vicreg.structure.micro_clusters import (
    CLUSTERS,
    REFINEMENTS,
    MicroClusters,
    micro_clusters,
)
from sag_vicreg.structure.parallel import Workers
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import grow_tree

# Sizes that are told apart: of more, neighbours on the scale of logs are taken together.
CODES = 2_048
# Pearson's from benchmarks/results/clusters.json, which a test compares with this.
_MEASURED = (
    "With the exact tree of the same rows such a tree correlated, over all pairs, to 0.999 "
    "(hierarchical data, 100,000 rows), 0.559 (clustered, all equally far apart), 0.341 "
    "(CIFAR-100, pixels) and 0.005 (uniform): but for clear hierarchies, do not take it for the "
    "exact tree."
)


@dataclass(frozen=True)
class ClusterSimilarity(LCASimilarity):
    """What :func:`compare_clusters` found.

    Attributes
    ----------
    pearson, spearman, kendall : float
        Correlations of the log size of the smallest common cluster, over all pairs of items. They
        are of a single tree each, so chance moves them as it moves every single tree.
    within : (float, float)
        Share of each table's variance that lies within micro-clusters, which the trees do not see.
    clusters : (int, int)
        Micro-clusters of each table that are not empty.
    n, refinements, geometry, seed, seconds
        Rows, and what was done.
    """

    within: tuple[float, float]
    clusters: tuple[int, int]
    n: int
    refinements: int
    geometry: str
    seed: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def compare_clusters(
    a: EmbeddingTable,
    b: EmbeddingTable,
    *,
    clusters: int = CLUSTERS,
    refinements: int = REFINEMENTS,
    geometry: str = "spherical",
    memory: int | None = None,
    seed: int = 0,
    passes: Passes | None = None,
) -> ClusterSimilarity:
    """Compare two tables by the Ward trees of their micro-clusters.

    Parameters
    ----------
    a, b
        From :func:`~sag_vicreg.artifacts.open_table`; rows are matched by id where both have ids,
        in any order, else by position.
    clusters, refinements
        Micro-clusters of each table at most, and passes over its rows that move their centres.
    geometry
        ``"spherical"`` or ``"euclidean"``.
    memory
        Bytes the process may hold in all; one that is too small is refused.
    seed
        Of the sample in which centres are found.
    passes
        Where the passes run; by default on the threads of this process.
    """
    start = time.perf_counter()
    passes = passes or Passes()
    check_lengths([a, b], by_position=not (a.has_ids and b.has_ids))
    one, other = (
        micro_clusters(
            table,
            passes,
            clusters=clusters,
            refinements=refinements,
            geometry=geometry,
            memory=memory,
            seed=seed,
        )
        for table in (a, b)
    )
    found = similarity_of(pair_table(contingency(a, b, one, other, passes), one, other))
    return ClusterSimilarity(
        **asdict(found),
        within=(one.within, other.within),
        clusters=(len(one.sizes), len(other.sizes)),
        n=a.rows,
        refinements=refinements,
        geometry=geometry,
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def cluster_caveat(within: Sequence[float]) -> str:
    """Say what trees of micro-clusters do not see, and how far from exact trees they were."""
    shares = " and ".join(dict.fromkeys(f"{share:.0%}" for share in within))
    return (
        f"{shares} of the variance lies within micro-clusters, where these trees see nothing. "
        f"{_MEASURED} The forest decides."
    )


def contingency(
    a: EmbeddingTable, b: EmbeddingTable, one: MicroClusters, other: MicroClusters, passes: Passes
) -> csr_array:
    """Count items by their micro-clusters: those of A are rows, those of B columns."""
    counts = csr_array((len(one.sizes), len(other.sizes)), dtype=np.int64)
    for rows_a, rows_b in matched_rows(a, b, passes):
        labels = one.labels[rows_a], other.labels[rows_b]
        counts += csr_array((np.ones(len(rows_a), np.int64), labels), shape=counts.shape)
    return counts


def matched_rows(
    a: EmbeddingTable, b: EmbeddingTable, passes: Passes
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows of equal items in both tables, some at a time."""
    if not (a.has_ids and b.has_ids):
        same = np.arange(a.rows)
        yield same, same
        return
    rows = max(a.rows, b.rows)
    with IdPartitions(a, rows) as ids_a, IdPartitions(b, rows) as ids_b:
        for table, partitions in ((a, ids_a), (b, ids_b)):
            task = partial(table.hashes, seeds=(0, 1))
            every = passes.map(task, table.pieces, bar=f"ids of {table.name}")
            for piece, (first, second) in zip(table.pieces, every, strict=True):
                partitions.add(first, second, np.arange(piece.start, piece.start + piece.rows))
        yield from join_rows(ids_a, ids_b)


def weighted_ward(means: Floats, sizes: Ints, geometry: str) -> Tree:
    """Build Ward's tree of clusters given by means and sizes.

    Two of them merge at the root of 2 w v / (w + v) |m - k|^2, as SciPy's tree of all their points
    has it, were the points of each cluster equal.
    """
    with Workers(len(means)) as workers:
        return grow_tree(means, geometry, workers, weights=sizes)


def pair_table(
    counts: csr_array, one: MicroClusters, other: MicroClusters, *, most_codes: int = CODES
) -> JointTable:
    """Count all pairs of items by the log size of their smallest common cluster in both trees.

    ``counts`` are of the items by their micro-clusters, from :func:`contingency`.
    """
    cells = counts.tocoo()
    tree_a, coded_a, own_a = _coded_tree(cells.row, one, most_codes)
    tree_b, coded_b, own_b = _coded_tree(cells.col, other, most_codes)
    leaves = np.arange(cells.nnz)
    table = count_codes(tree_a, tree_b, coded_a, coded_b, leaves, cells.data).dense()
    # Pairs of items that share a micro-cluster in both tables.
    np.add.at(table, (own_a, own_b), cells.data * (cells.data - 1) // 2)
    return JointTable.of(table, coded_a[1], coded_b[1])


def _coded_tree(labels: Ints, clusters: MicroClusters, most: int) -> tuple[Tree, Coded, Ints]:
    """Return the tree of cells, the codes of its merges, and each cell's code for its own pairs."""
    tree, said = _tree_of_cells(labels, clusters)
    n = int(clusters.sizes.sum())
    codes, values = _codes(np.concatenate([said, clusters.sizes]), n, most)
    return tree, (codes[: len(said)], values), codes[len(said) :][labels]


def _tree_of_cells(labels: Ints, clusters: MicroClusters) -> tuple[Tree, Ints]:
    """Hang cells under the tree of their micro-clusters.

    Returns the tree, and for each of its merges the items of the smallest cluster that holds what
    meets there: within a micro-cluster, all of that.
    """
    upper = weighted_ward(clusters.means, clusters.sizes, clusters.geometry)
    n, k = len(labels), len(clusters.sizes)
    # Cells of one micro-cluster, two by two, until one node is left of each.
    nodes = np.argsort(labels, kind="stable")
    of = labels[nodes]
    children, said = [], []
    made = 0
    while len(nodes) > k:
        place = np.arange(len(of)) - np.searchsorted(of, of)
        right = np.flatnonzero(place % 2)
        children.append(np.stack([nodes[right - 1], nodes[right]], axis=1))
        said.append(clusters.sizes[of[right]])
        nodes[right - 1] = n + made + np.arange(len(right))
        made += len(right)
        nodes, of = np.delete(nodes, right), np.delete(of, right)
    names = np.concatenate([nodes, n + made + np.arange(k - 1)])
    children.append(names[upper.children])
    said.append(upper.under(clusters.sizes)[k:])
    linkage = np.zeros((n - 1, 4))
    linkage[:, :2] = np.sort(np.concatenate(children), axis=1)
    return Tree(linkage), np.concatenate(said)


def _codes(sizes: Ints, n: int, most: int) -> tuple[Ints, Floats]:
    """Return a code for each size, ascending, and the log size over log(n) of each code."""
    distinct, codes = np.unique(sizes, return_inverse=True)
    values = np.log(distinct) / math.log(n)
    if len(distinct) > most:
        distinct, again = np.unique(np.rint(values * (most - 1)), return_inverse=True)
        codes, values = again[codes], distinct / (most - 1)
    return codes.astype(np.int64), values

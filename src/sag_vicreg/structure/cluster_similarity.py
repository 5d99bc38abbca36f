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

from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.id_joins import IdPartitions, join_rows
from sag_vicreg.artifacts.table_samples import check_lengths
from sag_vicreg.passes import Passes
from sag_vicreg.structure.arrays import Floats, Ints
from sag_vicreg.structure.joint import JointTable, count_codes, table_of_counts
from sag_vicreg.structure.lca import similarity_of
from sag_vicreg.structure.merges import Merges
from sag_vicreg.structure.micro_clusters import (
    CLUSTERS,
    REFINEMENTS,
    MicroClusters,
    micro_clusters,
)
from sag_vicreg.structure.parallel import Workers
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward_vectors import ward_of_vectors

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
class ClusterSimilarity:
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

    pearson: float
    spearman: float
    kendall: float
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
    cells = contingency(a, b, one, other, passes)
    found = similarity_of(pair_table(cells, one, other))
    return ClusterSimilarity(
        pearson=found.pearson,
        spearman=found.spearman,
        kendall=found.kendall,
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
) -> Ints:
    """Count items by their micro-clusters in both tables: rows (cluster of A, of B, count)."""
    parts = []
    for rows_a, rows_b in matched_rows(a, b, passes):
        codes = one.labels[rows_a].astype(np.int64) * len(other.sizes) + other.labels[rows_b]
        parts.append(np.unique(codes, return_counts=True))
    codes, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(codes, kind="stable")
    codes, starts = np.unique(codes[order], return_index=True)
    counts = np.add.reduceat(counts[order], starts)
    return np.stack([codes // len(other.sizes), codes % len(other.sizes), counts], axis=1)


def matched_rows(
    a: EmbeddingTable, b: EmbeddingTable, passes: Passes
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows of equal items in both tables, some at a time."""
    if not (a.has_ids and b.has_ids):
        yield np.arange(a.rows), np.arange(b.rows)
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
    merges = Merges()
    with Workers(len(means)) as workers:
        ward_of_vectors(means, workers, merges, weights=sizes)
    return Tree(merges.linkage(), geometry, means, merges.ties)


def pair_table(
    cells: Ints, one: MicroClusters, other: MicroClusters, *, most_codes: int = CODES
) -> JointTable:
    """Count all pairs of items by the log size of their smallest common cluster in both trees."""
    tree_a, said_a = _tree_of_cells(cells[:, 0], one)
    tree_b, said_b = _tree_of_cells(cells[:, 1], other)
    n = int(one.sizes.sum())
    codes_a, values_a = _codes(np.concatenate([said_a, one.sizes]), n, most_codes)
    codes_b, values_b = _codes(np.concatenate([said_b, other.sizes]), n, most_codes)
    merges_a, merges_b = len(said_a), len(said_b)
    counts = np.ascontiguousarray(cells[:, 2])
    table = count_codes(
        tree_a,
        tree_b,
        codes_a[:merges_a],
        values_a,
        codes_b[:merges_b],
        values_b,
        np.arange(len(cells)),
        counts,
    ).dense()
    # Pairs of items that share a micro-cluster in both tables.
    own = codes_a[merges_a:][cells[:, 0]], codes_b[merges_b:][cells[:, 1]]
    np.add.at(table, own, counts * (counts - 1) // 2)
    whole = table_of_counts(table)
    return JointTable(whole.cells, whole.counts, values_a, values_b)


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
        first = np.concatenate([[True], of[1:] != of[:-1]])
        place = np.arange(len(of)) - np.maximum.accumulate(np.where(first, np.arange(len(of)), 0))
        right = np.flatnonzero(place % 2 == 1)
        children.append(np.stack([nodes[right - 1], nodes[right]], axis=1))
        said.append(clusters.sizes[of[right]])
        nodes = nodes.copy()
        nodes[right - 1] = n + made + np.arange(len(right))
        made += len(right)
        kept = np.ones(len(nodes), np.bool_)
        kept[right] = False
        nodes, of = nodes[kept], of[kept]
    sizes = np.concatenate([clusters.sizes, np.zeros(k - 1, np.int64)])
    for merge, (left, right) in enumerate(upper.children.tolist()):
        sizes[k + merge] = sizes[left] + sizes[right]
    names = np.concatenate([nodes, n + made + np.arange(k - 1)])
    children.append(names[upper.children])
    said.append(sizes[k:])
    every = np.concatenate(children)
    linkage = np.zeros((n - 1, 4))
    linkage[:, :2] = np.sort(every, axis=1)
    return Tree(linkage), np.concatenate(said)


def _codes(sizes: Ints, n: int, most: int) -> tuple[Ints, Floats]:
    """Return a code for each size, ascending, and the log size over log(n) of each code."""
    distinct, codes = np.unique(sizes, return_inverse=True)
    values = np.log(distinct) / math.log(n)
    if len(distinct) > most:
        distinct, again = np.unique(np.rint(values * (most - 1)), return_inverse=True)
        codes, values = again[codes], distinct / (most - 1)
    return codes.astype(np.int64), values

"""Micro-clusters of a table of any size: k-means on two levels, in a few passes over the rows.

A random sample is divided into about the root of K cells, and each cell into its share of the K
clusters. Then every row of the table goes to its cell and there to its nearest centre, and centres
become means, up to three times. Sums are formed piece by piece in one order.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.embedding_tables import room_beside_reading
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.artifacts.table_samples import sample_tables
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure.memory import gigabytes
from sag_vicreg.structure.parallel import Workers, blocks
from sag_vicreg.structure.table_points import ROWS, points_of_piece, table_points

Labels = npt.NDArray[np.uint16]

CLUSTERS = 5_000
REFINEMENTS = 3
GEOMETRIES = ("spherical", "euclidean")
"""In which a cluster is told by its mean and its size."""

# Labels are of 16 bits.
_MOST_CLUSTERS = 60_000
# Rows of the sample, as a multiple of the clusters, and rounds of k-means over it.
_SAMPLE, _ROUNDS = 20, 8


@dataclass(frozen=True, eq=False)
class MicroClusters:
    """The rows of a table in small clusters.

    Attributes
    ----------
    means : (k, d) float64
        Mean of the points of each cluster: not of length 1, also where points are.
    sizes : (k,) int64
        Rows of each, none of them 0.
    labels : (rows,) uint16
        The cluster of each row.
    within : float
        Share of the points' variance that lies within clusters.
    """

    geometry: str
    means: Floats
    sizes: Ints
    labels: Labels
    within: float


@dataclass(frozen=True, eq=False)
class _Centres:
    """Centres on two levels: those of cell c are ``fine[starts[c]:starts[c + 1]]``.

    They are seen from ``origin``, as points must be: far from all of them, squares of distances
    would drown in those of the coordinates.
    """

    origin: Floats
    coarse: Floats
    fine: Floats
    starts: Ints

    def assign(self, points: Floats) -> Ints:
        """Return the centre that each point belongs to."""
        cells = nearest_centre(points, self.coarse)
        found = np.empty(len(points), np.int64)
        for cell in np.unique(cells):
            members = cells == cell
            start, stop = self.starts[cell : cell + 2]
            found[members] = start + nearest_centre(points[members], self.fine[start:stop])
        return found


def nearest_centre(points: Floats, centres: Floats) -> Ints:
    """Return the nearest of some centres for each point."""
    norms = np.einsum("ij,ij->i", centres, centres)
    return np.asarray((norms - 2 * (points @ centres.T)).argmin(axis=1))


def check_cluster_geometry(geometry: str) -> None:
    """Refuse a geometry in which a cluster is more than its mean and its size."""
    if geometry not in GEOMETRIES:
        raise InputError(
            f"micro-clusters in geometry '{geometry}': only in 'spherical' and 'euclidean' is a "
            "cluster told by its mean; choose one of these"
        )


def micro_clusters(
    table: EmbeddingTable,
    passes: Passes,
    *,
    clusters: int = CLUSTERS,
    refinements: int = REFINEMENTS,
    geometry: str = "spherical",
    memory: int | None = None,
    seed: int = 0,
) -> MicroClusters:
    """Divide all rows of a table into at most ``clusters`` micro-clusters."""
    check_cluster_geometry(geometry)
    if not 3 <= clusters <= _MOST_CLUSTERS:
        raise InputError(f"{clusters} micro-clusters: give between 3 and {_MOST_CLUSTERS:,}")
    if refinements < 1:
        raise InputError(f"{refinements} refinements: centres become means in the first, give one")
    if memory is not None:
        _check_memory(table, clusters, memory, passes.count)
    with Workers(0):  # BLAS on one thread for each of ours
        centres = _first_centres(table, passes, clusters, geometry, seed)
        labels = np.empty(table.rows, np.uint16)
        for _ in range(refinements):
            all_sums = _Sums.none(centres.fine)
            task = partial(_step, table=table, centres=centres, geometry=geometry)
            every = passes.map(task, table.pieces, bar=f"clusters of {table.name}")
            for piece, (sums, own_labels) in zip(table.pieces, every, strict=True):
                all_sums.add(sums)
                labels[piece.start : piece.start + piece.rows] = own_labels
            centres = replace(centres, fine=all_sums.means(centres.fine))
    counts, squares = all_sums.counts, all_sums.squares
    kept = counts > 0
    if kept.sum() < 3:
        raise InputError(f"{table.name}: its rows are {kept.sum()} points: a tree needs at least 3")
    mean = all_sums.sums.sum(axis=0) / table.rows
    total = squares - table.rows * float(mean @ mean)
    between = float((counts * np.einsum("ij,ij->i", centres.fine, centres.fine)).sum())
    return MicroClusters(
        geometry,
        centres.origin + centres.fine[kept],
        counts[kept],
        (np.cumsum(kept) - 1).astype(np.uint16)[labels],
        (squares - between) / total if total > 0 else 0.0,
    )


def _check_memory(table: EmbeddingTable, clusters: int, memory: int, threads: int) -> None:
    """Refuse a memory that the sample, the sums of each thread and the labels would pass."""
    sample = min(table.rows, _SAMPLE * clusters) * table.dimensions * (table.dtype.itemsize + 24)
    sums = (threads + 4) * clusters * table.dimensions * 8
    # Labels of this table and of another one, and the rows they are matched by.
    needed = sample + sums + 8 * table.rows
    room = room_beside_reading(memory, threads)
    if needed > room:
        raise InputError(
            f"a memory of {gigabytes(memory)} is too small for {clusters:,} micro-clusters: give "
            f"at least {gigabytes(memory - room + needed)}"
        )


@dataclass(eq=False)
class _Sums:
    """What points add up to: by cluster, and their squares in all."""

    sums: Floats
    counts: Ints
    squares: float = 0.0

    @classmethod
    def none(cls, centres: Floats) -> "_Sums":
        """Begin: nothing was added yet."""
        return cls(np.zeros_like(centres), np.zeros(len(centres), np.int64))

    def count(self, points: Floats, labels: Ints) -> None:
        """Add points to the sums of their clusters."""
        order = np.argsort(labels, kind="stable")
        present, starts = np.unique(labels[order], return_index=True)
        self.sums[present] += np.add.reduceat(points[order], starts, axis=0)
        self.counts += np.bincount(labels, minlength=len(self.counts))
        self.squares += float(np.einsum("ij,ij->", points, points))

    def add(self, other: "_Sums") -> None:
        """Add what was summed elsewhere."""
        self.sums += other.sums
        self.counts += other.counts
        self.squares += other.squares

    def means(self, centres: Floats) -> Floats:
        """Return the mean of each cluster; an empty one keeps its centre."""
        means = self.sums / np.maximum(self.counts, 1)[:, None]
        return np.where(self.counts[:, None] > 0, means, centres)


def _step(
    piece: Piece, *, table: EmbeddingTable, centres: _Centres, geometry: str
) -> tuple[_Sums, Labels]:
    """Assign the rows of one piece, and sum them up by cluster."""
    sums, labels = _Sums.none(centres.fine), []
    for _, points in points_of_piece(piece, table, geometry):
        points -= centres.origin
        found = centres.assign(points)
        sums.count(points, found)
        labels.append(found.astype(np.uint16))
    return sums, np.concatenate(labels)


def _first_centres(
    table: EmbeddingTable, passes: Passes, clusters: int, geometry: str, seed: int
) -> _Centres:
    """Find centres on both levels in a random sample of the rows."""
    (sample,) = sample_tables([table], _SAMPLE * clusters, passes, seed=seed)
    points = table_points(sample.vectors, geometry, table)
    origin = points.mean(axis=0)
    points -= origin
    if len(points) <= clusters:
        # Every row is a cluster of its own: there is nothing to refine.
        return _Centres(origin, points[:1], points, np.array([0, len(points)]))
    rng = np.random.default_rng([seed, 7])
    coarse = _k_means(points, round(clusters**0.5), rng)
    cells = nearest_centre(points, coarse)
    counts = np.bincount(cells, minlength=len(coarse))
    # Shares by rows, rounded down; at least one each, for which the largest give up some of theirs,
    # and never more than rows.
    wanted = np.minimum(np.maximum(1, np.floor(counts / len(points) * clusters)), counts)
    for _ in range(int(wanted.sum()) - clusters):
        wanted[wanted.argmax()] -= 1
    fine = [_k_means(points[cells == cell], int(k), rng) for cell, k in enumerate(wanted) if k > 0]
    starts = np.cumsum([0, *(len(each) for each in fine)])
    return _Centres(origin, coarse[wanted > 0], np.concatenate(fine), starts)


def _k_means(points: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Run some rounds of k-means from random rows."""
    centres = points[np.sort(rng.permutation(len(points))[:k])]
    for _ in range(_ROUNDS):
        sums = _Sums.none(centres)
        for part in blocks(len(points), ROWS):
            sums.count(points[part], nearest_centre(points[part], centres))
        centres = sums.means(centres)
    return centres

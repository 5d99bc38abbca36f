"""Hierarchical Rand index (the paper's appendix "Rand index" and figures 4a and 4b)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.checks import check_vectors, labels_by_level
from sag_vicreg.evaluation.spectral import spectral_clusterings
from sag_vicreg.hierarchy import Hierarchy
from sag_vicreg.scores import CLUSTER_COUNTS, at_clusters, at_level

NEIGHBORS = 10
"""Of the graph that is clustered, where nobody says."""


@dataclass(frozen=True)
class Agreement:
    """How far a clustering agrees with the labels of one level."""

    n_clusters: int
    rand: float
    by_chance: float
    """The Rand index expected of random clusters of the same sizes."""
    adjusted_rand: float
    """``(rand - by_chance) / (1 - by_chance)``: 0 by chance, 1 for equal partitions."""
    nmi: float
    """Normalised mutual information, by the arithmetic mean of the entropies."""

    def scores(self) -> dict[str, float]:
        """Return the scores by the keys of their measures."""
        return {
            "rand": self.rand,
            "rand_by_chance": self.by_chance,
            "ari": self.adjusted_rand,
            "nmi": self.nmi,
        }


@dataclass(frozen=True)
class RandScores:
    """Agreement of spectral clusters with the class hierarchy."""

    by_level: tuple[Agreement, ...]
    """At each level, coarsest first, with as many clusters as the level has classes."""
    by_count: tuple[Agreement, ...]
    """At the finest level, over a range of cluster counts."""
    n_neighbors: int
    components: int
    """Pieces the k-NN graph was in; where above 1, they were tied to their nearest points."""
    seed: int

    def scores(self) -> dict[str, float]:
        """Return each score by its flat key: ``rand.level1``, ``ari.clusters20``."""
        levels = {
            at_level(measure, level): value
            for level, each in enumerate(self.by_level, start=1)
            for measure, value in each.scores().items()
        }
        counts = {
            at_clusters(measure, each.n_clusters): value
            for each in self.by_count
            for measure, value in each.scores().items()
        }
        return levels | counts

    def settings(self) -> dict[str, Any]:
        """Return how the clusters were made."""
        return {
            "affinity": f"{self.n_neighbors} nearest neighbours by cosine",
            "components": self.components,
            "seed": self.seed,
        }


def check_clustering(n: int, n_neighbors: int, cluster_counts: Sequence[int] | None) -> None:
    """Refuse a graph or clusters that ``n`` points cannot have."""
    if not 2 <= n_neighbors <= n:
        raise InputError(
            f"n_neighbors is {n_neighbors} but there are {n} points: choose it from 2 to that"
        )
    for count in cluster_counts or ():
        if not 1 <= count <= n:
            raise InputError(f"{count} clusters of {n} points: choose from 1 to that")


def rand_index(
    vectors: ArrayLike,
    labels: ArrayLike,
    hierarchy: Hierarchy,
    *,
    cluster_counts: Sequence[int] | None = None,
    n_neighbors: int = NEIGHBORS,
    seed: int = 0,
) -> RandScores:
    """Compare spectral clusters of an embedding with its labels, at every level.

    Chance alone raises the plain Rand index with the number of clusters, so each score comes with
    what chance gives, with the adjusted Rand index and with normalised mutual information.

    Parameters
    ----------
    vectors
        Embeddings (n, d), compared by cosine.
    labels
        Class names or indices, one per point.
    hierarchy
        The class tree. A level's number of clusters is the number of its classes that occur.
    cluster_counts
        Numbers of clusters to compare with the finest level. Default: 20, 40, ..., 200, those of
        them that leave at least two points per cluster.
    n_neighbors
        Of the affinity graph, each point counted as its own first.
    seed
        Of k-means and of the eigensolver's start.

    Returns
    -------
    RandScores
    """
    points = check_vectors(vectors, "vectors")
    n = len(points)
    check_clustering(n, n_neighbors, cluster_counts)
    levels = labels_by_level(labels, hierarchy, n, "vectors")
    if cluster_counts is None:
        cluster_counts = [count for count in CLUSTER_COUNTS if 2 * count <= n]

    n_classes = [len(np.unique(level)) for level in levels]
    clusters, components = spectral_clusterings(
        points, [*n_classes, *cluster_counts], n_neighbors=n_neighbors, seed=seed
    )
    return RandScores(
        by_level=tuple(
            agreement(level, clusters[count], count)
            for level, count in zip(levels, n_classes, strict=True)
        ),
        by_count=tuple(
            agreement(levels[-1], clusters[count], count) for count in sorted(set(cluster_counts))
        ),
        n_neighbors=n_neighbors,
        components=components,
        seed=seed,
    )


def agreement(labels: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int) -> Agreement:
    """Compare a clustering into ``n_clusters`` with labels of the same points."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

    together_in_labels, together_in_clusters = _share_together(labels), _share_together(clusters)
    return Agreement(
        n_clusters=n_clusters,
        rand=float(rand_score(labels, clusters)),
        by_chance=(
            together_in_labels * together_in_clusters
            + (1 - together_in_labels) * (1 - together_in_clusters)
        ),
        adjusted_rand=float(adjusted_rand_score(labels, clusters)),
        nmi=float(normalized_mutual_info_score(labels, clusters)),
    )


def _share_together(groups: NDArray[np.int64]) -> float:
    """Return the share of all pairs that are in the same group."""
    sizes = np.unique(groups, return_counts=True)[1]
    return float((sizes * (sizes - 1)).sum() / (len(groups) * (len(groups) - 1)))

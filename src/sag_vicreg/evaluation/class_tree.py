"""Structure against the known hierarchy: the embedding's tree of classes and the class tree.

Both trees have the classes as leaves. The embedding's is the Ward tree of the class centroids. The
class tree has nodes of many children and no order of merges, so of the LCA distances in
:mod:`sag_vicreg.structure` only ``level`` means the same in both: the longest chain of edges from
the lowest common ancestor down to a leaf. In a class tree, whose leaves are all equally deep, that
is half the number of edges between the two classes: 1 for siblings, ``n_levels`` for classes that
meet only at the root.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.centroids import class_centroids
from sag_vicreg.evaluation.checks import check_vectors, labels_by_level
from sag_vicreg.hierarchy import Hierarchy
from sag_vicreg.structure import Tree, ward_tree


@dataclass(frozen=True)
class ClassTreeScores:
    """Correlation of LCA levels over all pairs of classes: Ward tree of centroids, class tree."""

    pearson: float
    spearman: float
    kendall: float
    n_classes: int
    geometry: str
    ties: int
    """Merges of the Ward tree that had another choice as good."""

    def scores(self) -> dict[str, float]:
        """Return the correlations by their flat keys."""
        return {
            "class_tree.pearson": self.pearson,
            "class_tree.spearman": self.spearman,
            "class_tree.kendall": self.kendall,
        }

    def settings(self) -> dict[str, Any]:
        """Return what was correlated."""
        return {
            "lca": "level",
            "n_classes": self.n_classes,
            "geometry": self.geometry,
            "ties": self.ties,
        }


def class_tree_similarity(
    vectors: ArrayLike, labels: ArrayLike, hierarchy: Hierarchy, *, geometry: str = "cosine"
) -> ClassTreeScores | None:
    """Correlate how high two classes meet in the embedding with how high they meet by name.

    Parameters
    ----------
    vectors
        Embeddings (n, d).
    labels
        Class names or indices, one per point; classes without a point are left out.
    hierarchy
        The class tree.
    geometry
        Of the Ward tree, as in :func:`~sag_vicreg.structure.ward_tree`. Under ``"cosine"`` and
        ``"spherical"`` a centroid is the mean of unit vectors.

    Returns
    -------
    ClassTreeScores or None
        None where there is nothing to correlate: the classes that occur are all equally far apart
        in the class tree, as in a hierarchy of one level, or their centroids are one point, or
        one of them has no direction where the geometry asks for one.
    """
    from scipy.stats import kendalltau, pearsonr, spearmanr

    points = check_vectors(vectors, "vectors")
    classes = labels_by_level(labels, hierarchy, len(points), "vectors")[-1]
    present, index = np.unique(classes, return_inverse=True)
    if len(present) < 3:
        raise InputError(f"{len(present)} classes have points: a tree of classes needs at least 3")
    if hierarchy.n_levels == 1:
        return None
    upper = np.triu_indices(len(present), k=1)
    by_name = hierarchy.tree_distance(present)[upper] // 2
    if (by_name == by_name[0]).all():
        return None
    centroids = class_centroids(points, index, len(present), unit=geometry != "euclidean")
    undirected = geometry != "euclidean" and not centroids.any(axis=1).all()
    if undirected or np.allclose(centroids, centroids[0], rtol=1e-9, atol=0):
        return None
    tree = ward_tree(centroids, geometry=geometry)
    by_embedding = lca_levels(tree)[upper]
    return ClassTreeScores(
        pearson=float(pearsonr(by_embedding, by_name).statistic),
        spearman=float(spearmanr(by_embedding, by_name).statistic),
        kendall=float(kendalltau(by_embedding, by_name).statistic),
        n_classes=len(present),
        geometry=geometry,
        ties=tree.ties,
    )


def lca_levels(tree: Tree) -> NDArray[np.int64]:
    """Return the level of the lowest common ancestor of every two leaves, (n, n)."""
    from scipy.cluster.hierarchy import cophenet
    from scipy.spatial.distance import squareform

    # To SciPy, a tree whose merges are as high as their levels.
    merges = np.column_stack((tree.children, tree.levels[tree.n :], tree.sizes[tree.n :]))
    return np.asarray(squareform(cophenet(merges.astype(np.float64))), dtype=np.int64)

"""Embedding sets, their trees and forests, and how much these agree.

``s.forest`` is the score to read first; ``s.lca`` and ``s.cophenetic`` are the paper's, of single
trees. Neither labels nor PyTorch are needed. numba's kernels are loaded when first used, so
importing the subpackage costs nothing.

>>> from sag_vicreg.structure import compare
>>> s = compare(a, b)  # doctest: +SKIP
>>> s.forest.spearman, s.forest.interval  # doctest: +SKIP
>>> s.lca.spearman, s.cophenetic.d1_to_p2  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sag_vicreg.structure.branches import FATES, Branch
from sag_vicreg.structure.companions import (
    Context,
    Neighborhood,
    context,
    cut,
    fowlkes_mallows,
    linear_cka,
    mutual_neighbors,
    neighborhood,
    rsa,
)
from sag_vicreg.structure.comparing import compare, compare_all
from sag_vicreg.structure.comparison import MATRIX_SCORES, Comparison, Comparisons
from sag_vicreg.structure.cophenetic import CopheneticSimilarity, cophenetic_similarity
from sag_vicreg.structure.forest import FOREST_DISTANCES, TREES, Forest, ward_forest
from sag_vicreg.structure.forest_similarity import (
    ForestSimilarity,
    ScaleSimilarity,
    forest_similarity,
)
from sag_vicreg.structure.joint import LCA_DISTANCES, JointTable, joint_table
from sag_vicreg.structure.layout import Dendrogram, dendrogram
from sag_vicreg.structure.lca import LCASimilarity, lca_similarity
from sag_vicreg.structure.movements import (
    ClassMovement,
    Flow,
    Movements,
    branches_of,
    movements,
)
from sag_vicreg.structure.points import GEOMETRIES
from sag_vicreg.structure.similarity import HalfSamples, Scores, score_trees
from sag_vicreg.structure.tanglegram import Tanglegram, entanglement, untangle
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.verdict import table_verdict, verdict
from sag_vicreg.structure.ward import ward_tree

if TYPE_CHECKING:
    from sag_vicreg.structure.cluster_similarity import ClusterSimilarity, compare_clusters
    from sag_vicreg.structure.table_similarity import TableSimilarity, compare_tables

__all__ = [
    "FATES",
    "FOREST_DISTANCES",
    "GEOMETRIES",
    "LCA_DISTANCES",
    "MATRIX_SCORES",
    "TREES",
    "Branch",
    "ClassMovement",
    "ClusterSimilarity",
    "Comparison",
    "Comparisons",
    "Context",
    "CopheneticSimilarity",
    "Dendrogram",
    "Flow",
    "Forest",
    "ForestSimilarity",
    "HalfSamples",
    "JointTable",
    "LCASimilarity",
    "Movements",
    "Neighborhood",
    "ScaleSimilarity",
    "Scores",
    "TableSimilarity",
    "Tanglegram",
    "Tree",
    "branches_of",
    "compare",
    "compare_all",
    "compare_clusters",
    "compare_tables",
    "context",
    "cophenetic_similarity",
    "cut",
    "dendrogram",
    "entanglement",
    "forest_similarity",
    "fowlkes_mallows",
    "joint_table",
    "lca_similarity",
    "linear_cka",
    "movements",
    "mutual_neighbors",
    "neighborhood",
    "rsa",
    "score_trees",
    "table_verdict",
    "untangle",
    "verdict",
    "ward_forest",
    "ward_tree",
]


# What reads tables is loaded when it is asked for: schemas and pyarrow take longest to load.
_ON_DEMAND = {
    "ClusterSimilarity": "cluster_similarity",
    "TableSimilarity": "table_similarity",
    "compare_clusters": "cluster_similarity",
    "compare_tables": "table_similarity",
}


def __getattr__(name: str) -> Any:
    """Load what is loaded on demand."""
    if name in _ON_DEMAND:
        return getattr(import_module(f"{__name__}.{_ON_DEMAND[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Two embedding sets, their trees, and how much the trees agree (paper, section 4.4).

Needs neither labels nor PyTorch. numba's kernels are loaded when first used, so importing the room
costs nothing.

>>> from sag_vicreg.structure import compare
>>> s = compare(a, b)  # doctest: +SKIP
>>> s.lca.spearman, s.cophenetic.d1_to_p2  # doctest: +SKIP
"""

from sag_vicreg.structure.companions import (
    Context,
    context,
    cut,
    fowlkes_mallows,
    linear_cka,
    mutual_neighbors,
    rsa,
)
from sag_vicreg.structure.comparison import Comparison, Comparisons, compare, compare_all
from sag_vicreg.structure.cophenetic import CopheneticSimilarity, cophenetic_similarity
from sag_vicreg.structure.joint import LCA_DISTANCES, JointTable, joint_table
from sag_vicreg.structure.layout import Dendrogram, dendrogram
from sag_vicreg.structure.lca import LCASimilarity, lca_similarity
from sag_vicreg.structure.points import GEOMETRIES
from sag_vicreg.structure.scores import SCORES, Scores, Spread, score_trees
from sag_vicreg.structure.tanglegram import Tanglegram, entanglement, untangle
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import ward_tree

__all__ = [
    "GEOMETRIES",
    "LCA_DISTANCES",
    "SCORES",
    "Comparison",
    "Comparisons",
    "Context",
    "CopheneticSimilarity",
    "Dendrogram",
    "JointTable",
    "LCASimilarity",
    "Scores",
    "Spread",
    "Tanglegram",
    "Tree",
    "compare",
    "compare_all",
    "context",
    "cophenetic_similarity",
    "cut",
    "dendrogram",
    "entanglement",
    "fowlkes_mallows",
    "joint_table",
    "lca_similarity",
    "linear_cka",
    "mutual_neighbors",
    "rsa",
    "score_trees",
    "untangle",
    "ward_tree",
]

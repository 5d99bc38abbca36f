"""Two embedding sets, their trees, and how much the trees agree (paper, section 4.4).

Needs neither labels nor PyTorch. numba's kernels are loaded when first used, so importing the room
costs nothing.

>>> from sag_vicreg.structure import compare
>>> s = compare(a, b)  # doctest: +SKIP
>>> s.lca.spearman, s.cophenetic.d1_to_p2  # doctest: +SKIP
"""

from sag_vicreg.structure.comparison import Comparison, Scores, Spread, compare, score_trees
from sag_vicreg.structure.cophenetic import CopheneticSimilarity, cophenetic_similarity
from sag_vicreg.structure.joint import LCA_DISTANCES, JointTable, joint_table
from sag_vicreg.structure.lca import LCASimilarity, lca_similarity
from sag_vicreg.structure.points import GEOMETRIES
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import ward_tree

__all__ = [
    "GEOMETRIES",
    "LCA_DISTANCES",
    "Comparison",
    "CopheneticSimilarity",
    "JointTable",
    "LCASimilarity",
    "Scores",
    "Spread",
    "Tree",
    "compare",
    "cophenetic_similarity",
    "joint_table",
    "lca_similarity",
    "score_trees",
    "ward_tree",
]

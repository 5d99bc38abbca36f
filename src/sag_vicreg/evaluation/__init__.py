"""Scores of embeddings against a class hierarchy, level by level, and without labels."""

from sag_vicreg.evaluation.class_tree import ClassTreeScores, class_tree_similarity
from sag_vicreg.evaluation.knn import KNNScores, hierarchical_knn
from sag_vicreg.evaluation.overall import EvaluationScores, evaluate
from sag_vicreg.evaluation.probe import ProbeScores, hierarchical_probe
from sag_vicreg.evaluation.rand import Agreement, RandScores, rand_index
from sag_vicreg.evaluation.unlabelled import (
    LabelFree,
    alignment,
    alpha_req,
    label_free,
    rankme,
    uniformity,
)

__all__ = [
    "Agreement",
    "ClassTreeScores",
    "EvaluationScores",
    "KNNScores",
    "LabelFree",
    "ProbeScores",
    "RandScores",
    "alignment",
    "alpha_req",
    "class_tree_similarity",
    "evaluate",
    "hierarchical_knn",
    "hierarchical_probe",
    "label_free",
    "rand_index",
    "rankme",
    "uniformity",
]

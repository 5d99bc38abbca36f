"""Scores of embeddings against a class hierarchy, level by level, and without labels."""

from sag_vicreg.evaluation.knn import KNNScores, hierarchical_knn
from sag_vicreg.evaluation.probe import ProbeScores, hierarchical_probe
from sag_vicreg.evaluation.unlabelled import (
    LabelFree,
    alignment,
    alpha_req,
    label_free,
    rankme,
    uniformity,
)

__all__ = [
    "KNNScores",
    "LabelFree",
    "ProbeScores",
    "alignment",
    "alpha_req",
    "hierarchical_knn",
    "hierarchical_probe",
    "label_free",
    "rankme",
    "uniformity",
]

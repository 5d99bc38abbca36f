"""Losses of two views: VICReg, SAG-VICReg and the peers it is compared with."""

from sag_vicreg.losses.sag_vicreg import SAGVICRegLoss
from sag_vicreg.losses.terms import LossTerms, VICRegTerms
from sag_vicreg.losses.vicreg import VICRegLoss, covariance, invariance, variance

__all__ = [
    "LossTerms",
    "SAGVICRegLoss",
    "VICRegLoss",
    "VICRegTerms",
    "covariance",
    "invariance",
    "variance",
]

"""Losses of two views: VICReg, SAG-VICReg, and the peers they are compared with."""

from sag_vicreg.losses.barlow_twins import BarlowTwinsLoss
from sag_vicreg.losses.nt_xent import NTXentLoss, nt_xent
from sag_vicreg.losses.two_views import LossTerms, TwoViewLoss
from sag_vicreg.losses.vicreg import SAGVICRegLoss, VICRegLoss, VICRegTerms

__all__ = [
    "BarlowTwinsLoss",
    "LossTerms",
    "NTXentLoss",
    "SAGVICRegLoss",
    "TwoViewLoss",
    "VICRegLoss",
    "VICRegTerms",
    "nt_xent",
]

"""VICReg (Bardes et al., 2022, https://arxiv.org/abs/2105.04906) and SAG-VICReg (paper, 4.3)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from torch import nn

from sag_vicreg.losses import SAGVICRegLoss, VICRegLoss
from sag_vicreg.methods.heads import expander as make_expander
from sag_vicreg.methods.two_views import TwoViewMethod


class VICReg(TwoViewMethod):
    """Two views through backbone and expander, then invariance, variance and covariance."""

    loss_class: ClassVar[type[VICRegLoss]] = VICRegLoss

    @classmethod
    def from_numbers(
        cls,
        backbone: nn.Module,
        n_features: int,
        *,
        expander: Sequence[int],
        invariance_weight: float,
        variance_weight: float,
        covariance_weight: float,
        **walk: Any,
    ) -> Self:
        """Build expander and loss; ``walk`` are options of SAG-VICReg's ``RandomWalkPairing``."""
        loss = cls.loss_class(
            invariance=invariance_weight,
            variance=variance_weight,
            covariance=covariance_weight,
            **walk,
        )
        return cls(backbone, make_expander(n_features, expander), loss)


class SAGVICReg(VICReg):
    """VICReg until ``walk_after`` of training is done, on a random walk's pairs from then on."""

    loss_class = SAGVICRegLoss

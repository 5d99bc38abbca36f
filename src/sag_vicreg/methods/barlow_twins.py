"""Barlow Twins (Zbontar et al., 2021, https://arxiv.org/abs/2103.03230), plain or walked."""

from collections.abc import Sequence
from typing import Any, Self

from torch import nn

from sag_vicreg.losses import BarlowTwinsLoss
from sag_vicreg.methods.heads import expander as make_expander
from sag_vicreg.methods.two_views import TwoViewMethod, peer_pairing


class BarlowTwins(TwoViewMethod):
    """Two views through backbone and expander, then redundancy reduction.

    The walk's weights play no part: the loss compares columns, not rows.
    """

    @classmethod
    def from_numbers(
        cls,
        backbone: nn.Module,
        n_features: int,
        *,
        expander: Sequence[int],
        redundancy_weight: float,
        pairing: str,
        **walk: Any,
    ) -> Self:
        """Build expander and loss; ``walk`` are options of ``RandomWalkPairing``."""
        loss = BarlowTwinsLoss(redundancy=redundancy_weight, pairing=peer_pairing(pairing, walk))
        return cls(backbone, make_expander(n_features, expander), loss)

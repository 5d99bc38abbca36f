"""SimCLR (Chen et al., 2020, https://arxiv.org/abs/2002.05709), plain or on the walk's pairs."""

from collections.abc import Sequence
from typing import Any, Self

from torch import nn

from sag_vicreg.losses import NTXentLoss
from sag_vicreg.methods.heads import projector
from sag_vicreg.methods.two_views import TwoViewMethod, peer_pairing


class SimCLR(TwoViewMethod):
    """Two views through backbone and head, then NT-Xent. The walk's weights play no part."""

    @classmethod
    def from_numbers(
        cls,
        backbone: nn.Module,
        n_features: int,
        *,
        head: Sequence[int],
        temperature: float,
        pairing: str,
        **walk: Any,
    ) -> Self:
        """Build head and loss; ``walk`` are options of ``RandomWalkPairing``."""
        loss = NTXentLoss(temperature=temperature, pairing=peer_pairing(pairing, walk))
        return cls(backbone, projector(n_features, head), loss)

"""Methods of two views: backbone and head, then a loss between each row and its partner."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from sag_vicreg.losses import LossTerms, TwoViewLoss
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.moment import Moment
from sag_vicreg.pairing import RandomWalkPairing


class TwoViewMethod(Method):
    """Compare each image's own two views or, where the loss has a pairing, the pairs it draws.

    Parameters
    ----------
    backbone
        From pixels to the representation.
    head
        From the representation to the embedding the loss sees.
    loss
        Between each row and its partner; without a pairing nothing ever walks.
    """

    def __init__(self, backbone: nn.Module, head: nn.Module, loss: TwoViewLoss) -> None:
        super().__init__(backbone)
        self.head = head
        self.loss = loss

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare each row with its partner."""
        # Each view with the batch statistics of its own.
        h, h_prime = (self.backbone(view) for view in views)
        terms: LossTerms = self.loss(
            self.head(h),
            self.head(h_prime),
            progress=moment.progress,
            generator=moment.generator("walk"),
        )
        return terms


def peer_pairing(pairing: str, walk: dict[str, Any]) -> RandomWalkPairing | None:
    """Build the walk of a method that may do without: ``pairing`` is ``views`` then."""
    return RandomWalkPairing(**walk) if pairing == "random_walk" else None

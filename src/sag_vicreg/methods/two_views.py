"""Methods of two views: backbone and head, then a loss between each row and its partner."""

from collections.abc import Sequence
from typing import Any, Literal

from torch import Tensor, nn

from sag_vicreg.losses import LossTerms, TwoViewLoss
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.moment import Moment
from sag_vicreg.pairing import RandomWalkPairing

NeighborsIn = Literal["embedding", "representation"]


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
    neighbors_in : {"embedding", "representation"}
        Where the pairing searches neighbours.
    """

    def __init__(
        self,
        backbone: nn.Module,
        head: nn.Module,
        loss: TwoViewLoss,
        *,
        neighbors_in: NeighborsIn = "embedding",
    ) -> None:
        super().__init__(backbone)
        self.head = head
        self.loss = loss
        self.neighbors_in = neighbors_in

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare each row with its partner."""
        # Each view with the batch statistics of its own.
        h, h_prime = (self.backbone(view) for view in views)
        z, z_prime = self.head(h), self.head(h_prime)
        terms: LossTerms = self.loss(
            z,
            z_prime,
            progress=moment.progress,
            features=(h, h_prime) if self.neighbors_in == "representation" else None,
            generator=moment.generator("walk"),
        )
        return terms


def peer_pairing(pairing: str, walk: dict[str, Any]) -> RandomWalkPairing | None:
    """Build the walk of a method that may do without: ``pairing`` is ``views`` then."""
    return RandomWalkPairing(**walk) if pairing == "random_walk" else None

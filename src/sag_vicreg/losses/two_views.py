"""What all losses of two views share: the whole batch gathered, the partners drawn."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from sag_vicreg.errors import InputError
from sag_vicreg.losses.terms import LossTerms
from sag_vicreg.pairing import (
    Pairs,
    RandomWalkPairing,
    check_finite,
    full_precision,
    gather_views,
)


class TwoViewLoss(nn.Module, ABC):
    """A loss between each row of a batch and its partner.

    With several processes it is the loss of the whole batch, the same on each; behind
    DistributedDataParallel the gradients are exactly those of one process (``docs/method.md``).

    Parameters
    ----------
    pairing : RandomWalkPairing, optional
        Draws the partners. Without it each row's partner is its own other view.
    """

    def __init__(self, pairing: RandomWalkPairing | None = None) -> None:
        super().__init__()
        self.pairing = pairing

    def forward(
        self,
        z: Tensor,
        z_prime: Tensor,
        *,
        generator: torch.Generator | None = None,
        uniforms: Tensor | None = None,
        pairs: Pairs | None = None,
    ) -> LossTerms:
        """Compare the (n, d) embeddings of two views.

        ``generator``, ``uniforms`` and ``pairs`` fix the draw, as in
        :class:`~sag_vicreg.pairing.RandomWalkPairing`; a loss without one draws nothing.
        """
        if self.pairing is None:
            if pairs is not None:
                raise InputError(
                    f"{type(self).__name__} was given pairs but has no pairing: "
                    "build it with pairing=RandomWalkPairing()"
                )
            return self.of_own_views(z, z_prime)
        walked = self.pairing(z, z_prime, generator=generator, uniforms=uniforms, pairs=pairs)
        with full_precision(z):
            return self.of_partners(walked.z, walked.z_partner, walked)

    def of_own_views(self, z: Tensor, z_prime: Tensor) -> LossTerms:
        """Compare each row with its own other view, whatever the pairing."""
        views = gather_views(z, z_prime)
        check_finite(views.z, views.z_prime)
        with full_precision(z):
            return self.of_partners(views.z, views.z_prime)

    @abstractmethod
    def of_partners(self, z: Tensor, z_partner: Tensor, pairs: Pairs | None = None) -> LossTerms:
        """Add up the loss of a whole batch already paired; ``None`` means own views."""


def share_nontrivial(z: Tensor, pairs: Pairs | None) -> Tensor:
    """Share of rows whose partner is another image's view, for the training log."""
    return z.new_zeros(()) if pairs is None else pairs.nontrivial

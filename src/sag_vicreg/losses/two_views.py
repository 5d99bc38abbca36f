"""What all losses of two views share: partners for the whole batch, and terms by name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from sag_vicreg.distributed import full_precision, gather_views
from sag_vicreg.errors import InputError
from sag_vicreg.pairing import Pairs, RandomWalkPairing, WalkedViews


@dataclass(frozen=True, eq=False)
class LossTerms:
    """A loss, its parts, all scalars, and who was paired with whom.

    Attributes
    ----------
    total : Tensor
        The loss itself.
    parts : mapping of str to Tensor
        The named terms before weighting, for the training log.
    walked : WalkedViews, optional
        The pairs of the whole batch, where the loss compares two views.
    """

    total: Tensor
    parts: Mapping[str, Tensor]
    walked: WalkedViews | None = None

    def backward(self, *, retain_graph: bool = False) -> None:
        """Compute the gradients of the total."""
        self.total.backward(retain_graph=retain_graph)


class TwoViewLoss(nn.Module, ABC):
    """A loss between each row of a batch and its partner.

    With several processes it is the loss of the whole batch, the same on each; behind
    DistributedDataParallel the gradients are exactly those of one process.

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
        pairs: Pairs | None = None,
        uniforms: Tensor | None = None,
        progress: float | None = None,
    ) -> LossTerms:
        """Compare the (n, d) embeddings of two views.

        ``progress`` says how far training is, and ``generator``, ``uniforms`` and ``pairs`` fix
        the draw, as in :class:`~sag_vicreg.pairing.RandomWalkPairing`; a loss without one draws
        nothing.
        """
        if self.pairing is not None:
            walked: WalkedViews = self.pairing(
                z,
                z_prime,
                progress=progress,
                generator=generator,
                uniforms=uniforms,
                pairs=pairs,
            )
        elif pairs is None:
            walked = WalkedViews.at_home(gather_views(z, z_prime))
        else:
            raise InputError(
                f"{type(self).__name__} was given pairs but has no pairing: "
                "build it with pairing=RandomWalkPairing()"
            )
        with full_precision(z):
            terms = self.of_partners(walked)
        return replace(terms, parts={**terms.parts, "nontrivial": walked.nontrivial}, walked=walked)

    @abstractmethod
    def of_partners(self, walked: WalkedViews) -> LossTerms:
        """Add up the loss of a whole batch already paired."""

    def extra_repr(self) -> str:
        """Show weights and temperatures where a model is printed."""
        numbers = {name: value for name, value in vars(self).items() if name != "training"}
        return ", ".join(f"{k}={v}" for k, v in numbers.items() if isinstance(v, int | float))

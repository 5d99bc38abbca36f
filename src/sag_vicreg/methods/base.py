"""What every method is: a backbone, something to train it by, and a few places to step in."""

from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor, nn

from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.moment import Moment


class Method(nn.Module):
    """Views of a batch in, loss terms out.

    A subclass takes its parts, modules and numbers, in ``__init__`` and computes its loss in
    :meth:`forward`. Whatever must survive a checkpoint is a parameter or a registered buffer:
    momentum teachers (with ``requires_grad`` off, so that no optimiser touches them), centres,
    queues. Whatever changes over training is computed from the :class:`Moment`, never counted: the
    same moment gives the same result before and after a resume. Randomness comes from
    ``moment.generator(name)``.

    Parameters
    ----------
    backbone
        From pixels to the representation.
    """

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone

    @classmethod
    def from_numbers(cls, backbone: nn.Module, n_features: int, *_: Any, **numbers: Any) -> Self:
        """Build the method around a backbone of ``n_features`` outputs.

        ``numbers`` are the keys of its section in a recipe. A subclass that takes modules beside
        the backbone makes them here.
        """
        return cls(backbone, **numbers)

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Return the loss of this process's rows of the batch.

        Parameters
        ----------
        views
            Normalised images, one (n, 3, h, w) tensor per view; sizes may differ between views.
        moment
            Where training stands.
        """
        raise NotImplementedError

    @property
    def encoder(self) -> nn.Module:
        """The network that is measured, exported and used to embed: pixels to representation."""
        return self.backbone

    def after_backward(self, moment: Moment) -> None:
        """Change gradients before the optimiser sees them, for example to freeze a layer."""

    def after_step(self, moment: Moment) -> None:
        """Follow the optimiser's step, for example with a momentum teacher."""

"""What every method is: a backbone, something to train it by, and a few places to step in."""

from collections.abc import Sequence

from torch import Tensor, nn

from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.backbone import make_backbone, output_width
from sag_vicreg.methods.moment import Moment
from sag_vicreg.recipes import Recipe


class Method(nn.Module):
    """Views of a batch in, loss terms out.

    A subclass builds its parts in ``__init__`` and computes its loss in :meth:`forward`. Whatever
    must survive a checkpoint is a parameter or a registered buffer: momentum teachers (with
    ``requires_grad`` off, so that no optimiser touches them), centres, queues. Whatever changes
    over training is computed from the :class:`Moment`, never counted: the same moment gives the
    same result before and after a resume. Randomness comes from ``moment.generator(name)``.

    Attributes
    ----------
    backbone
        From pixels to the representation.
    n_features
        Width of the representation.
    """

    backbone: nn.Module
    n_features: int

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.backbone = make_backbone(recipe.backbone.name, recipe.backbone.args)
        self.n_features = output_width(self.backbone, recipe.dataset.image_size)

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

"""Methods of two views: backbone and head, then a loss between each row and its partner."""

from collections.abc import Sequence

from torch import Tensor, nn

from sag_vicreg.losses import LossTerms, TwoViewLoss
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.moment import Moment
from sag_vicreg.pairing import RandomWalkPairing
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import PairingSettings


class TwoViewMethod(Method):
    """Compare each image's own two views or, once the walk has started, the walk's pairs.

    A subclass sets ``head`` and ``loss`` in its ``__init__``, and ``walk_after`` where it walks.

    Attributes
    ----------
    head
        From the backbone's representation to the embedding the loss sees.
    loss
        Between each row and its partner; without a pairing nothing ever walks.
    walk_after
        Share of training on plain pairs before the walk starts.
    """

    head: nn.Module
    loss: TwoViewLoss

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self.walk_after = 0.0

    def embed(self, views: Sequence[Tensor]) -> list[Tensor]:
        """Return ``z`` of each view, each with the batch statistics of its own view."""
        return [self.head(self.backbone(view)) for view in views]

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare each row with its partner."""
        z, z_prime = self.embed(views)
        if self.loss.pairing is None or moment.progress < self.walk_after:
            return self.loss.of_own_views(z, z_prime)
        walked: LossTerms = self.loss(z, z_prime, generator=moment.generator("walk"))
        return walked


def make_pairing(settings: PairingSettings) -> RandomWalkPairing | None:
    """Build the walk a recipe describes, if it has one."""
    if settings.pairing == "views":
        return None
    return RandomWalkPairing(
        settings.k, percentile=settings.percentile, scale_over=settings.scale_over
    )

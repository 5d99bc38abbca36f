"""VICReg (Bardes et al., 2022, https://arxiv.org/abs/2105.04906)."""

from collections.abc import Sequence

from torch import Tensor

from sag_vicreg.losses import LossTerms, VICRegLoss
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.heads import expander
from sag_vicreg.methods.moment import Moment
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import VICRegSection


class VICReg(Method):
    """Two views through backbone and expander, then invariance, variance and covariance."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, VICRegSection)
        self.expander = expander(self.n_features, section.expander)
        self.vicreg = VICRegLoss(
            invariance=section.invariance_weight,
            variance=section.variance_weight,
            covariance=section.covariance_weight,
        )

    def embed(self, views: Sequence[Tensor]) -> list[Tensor]:
        """Return ``z`` of each view, each with the batch statistics of its own view."""
        return [self.expander(self.backbone(view)) for view in views]

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare each image's two views."""
        z, z_prime = self.embed(views)
        terms: LossTerms = self.vicreg(z, z_prime)
        return terms

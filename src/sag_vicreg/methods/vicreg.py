"""VICReg (Bardes et al., 2022, https://arxiv.org/abs/2105.04906)."""

from sag_vicreg.losses import VICRegLoss
from sag_vicreg.methods.heads import expander
from sag_vicreg.methods.two_views import TwoViewMethod
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import VICRegSection


class VICReg(TwoViewMethod):
    """Two views through backbone and expander, then invariance, variance and covariance."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, VICRegSection)
        self.head = expander(self.n_features, section.expander)
        self.loss = VICRegLoss(
            invariance=section.invariance_weight,
            variance=section.variance_weight,
            covariance=section.covariance_weight,
        )

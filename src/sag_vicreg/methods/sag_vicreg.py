"""SAG-VICReg: VICReg whose pairs come from a random walk over the batch (paper, section 4.3)."""

from sag_vicreg.losses import SAGVICRegLoss
from sag_vicreg.methods.vicreg import VICReg
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import SAGVICRegSection


class SAGVICReg(VICReg):
    """VICReg until ``walk_after`` of training is done, on the walk's pairs from then on."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, SAGVICRegSection)
        self.walk_after = section.walk_after
        self.loss = SAGVICRegLoss(
            section.k,
            percentile=section.percentile,
            scale_over=section.scale_over,
            invariance=section.invariance_weight,
            variance=section.variance_weight,
            covariance=section.covariance_weight,
        )

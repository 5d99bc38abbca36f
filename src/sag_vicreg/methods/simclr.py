"""SimCLR (Chen et al., 2020, https://arxiv.org/abs/2002.05709), plain or on the walk's pairs."""

from sag_vicreg.losses import NTXentLoss
from sag_vicreg.methods.heads import projector
from sag_vicreg.methods.two_views import TwoViewMethod, make_pairing
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import SimCLRSection


class SimCLR(TwoViewMethod):
    """Two views through backbone and head, then NT-Xent. The walk's weights play no part."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, SimCLRSection)
        self.head = projector(self.n_features, section.head)
        self.loss = NTXentLoss(temperature=section.temperature, pairing=make_pairing(section))
        self.walk_after = section.walk_after

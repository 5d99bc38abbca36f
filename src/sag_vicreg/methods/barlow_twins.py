"""Barlow Twins (Zbontar et al., 2021, https://arxiv.org/abs/2103.03230), plain or walked."""

from sag_vicreg.losses import BarlowTwinsLoss
from sag_vicreg.methods.heads import expander
from sag_vicreg.methods.two_views import TwoViewMethod, make_pairing
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import BarlowTwinsSection


class BarlowTwins(TwoViewMethod):
    """Two views through backbone and expander, then redundancy reduction.

    The walk's weights play no part: the loss compares columns, not rows.
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, BarlowTwinsSection)
        self.head = expander(self.n_features, section.expander)
        self.loss = BarlowTwinsLoss(
            redundancy=section.redundancy_weight, pairing=make_pairing(section)
        )
        self.walk_after = section.walk_after

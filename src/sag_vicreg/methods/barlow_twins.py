"""Barlow Twins (Zbontar et al., 2021, https://arxiv.org/abs/2103.03230), plain or walked."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.heads import expander
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.partners import Partners
from sag_vicreg.pairing import full_precision
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import BarlowTwinsSection


def correlation_terms(z: Tensor, z_partner: Tensor, *, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Return how far the views' cross-correlation is from the identity: on and off its diagonal.

    Columns are standardised over the batch with biased variances, as a BatchNorm without
    parameters does; ``eps`` is BatchNorm's. With A and B standardised,
    ``||Aᵀ B||² = <A Aᵀ, B Bᵀ>``: where the batch is smaller than the dimension the d x d matrix
    is never built.
    """
    n, d = z.shape
    a, b = (
        (side - side.mean(dim=0)) / torch.sqrt(side.var(dim=0, correction=0) + eps)
        for side in (z, z_partner)
    )
    diagonal = (a * b).mean(dim=0)
    products = (a @ a.T) * (b @ b.T) if n < d else (a.T @ b).square()
    squares = products.sum() / n**2
    return (1 - diagonal).square().sum(), squares - diagonal.square().sum()


class BarlowTwins(Method):
    """Two views through backbone and expander, then redundancy reduction.

    The walk's weights play no part: the loss compares columns, not rows.
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, BarlowTwinsSection)
        self.expander = expander(self.n_features, section.expander)
        self.partners = Partners(section)
        self.redundancy_weight = section.redundancy_weight

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Correlate each row with its partner, column by column."""
        z, z_prime = (self.expander(self.backbone(view)) for view in views)
        paired = self.partners(z, z_prime, moment)
        with full_precision(paired.z):
            on, off = correlation_terms(paired.z, paired.z_partner)
            total = on + self.redundancy_weight * off
        parts = {"invariance": on, "redundancy": off, "nontrivial": paired.nontrivial}
        return LossTerms(total, parts)

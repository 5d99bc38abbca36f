"""SimCLR (Chen et al., 2020, https://arxiv.org/abs/2002.05709), plain or on the walk's pairs."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.heads import projector
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.partners import Partners
from sag_vicreg.pairing import full_precision
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import SimCLRSection


def nt_xent(
    z: Tensor, z_partner: Tensor, *, temperature: float, partners: Tensor | None = None
) -> Tensor:
    """Pick each row's partner out of all other rows, by cosine, in both directions.

    Parameters
    ----------
    z, z_partner : (n, d)
        Row i of one is the positive of row i of the other; every other row is a negative.
    temperature
        Of the softmax.
    partners : (n,), optional
        Which image each row of ``z_partner`` shows. A random walk can draw one image for several
        rows: those rows, and the copies they drew, are no negatives of each other and are left out.
    """
    n = len(z)
    rows = F.normalize(torch.cat((z, z_partner)), dim=1)
    logits = rows @ rows.T / temperature
    positive = torch.arange(2 * n, device=z.device).roll(n)
    excluded = torch.eye(2 * n, dtype=torch.bool, device=z.device)
    if partners is not None:
        shown = partners.repeat(2)
        excluded |= shown[:, None] == shown
        excluded[torch.arange(2 * n, device=z.device), positive] = False
    return F.cross_entropy(logits.masked_fill(excluded, -torch.inf), positive)


class SimCLR(Method):
    """Two views through backbone and head, then NT-Xent. The walk's weights play no part."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, SimCLRSection)
        self.head = projector(self.n_features, section.head)
        self.partners = Partners(section)
        self.temperature = section.temperature

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Contrast each row with its partner against the rest of the batch."""
        z, z_prime = (self.head(self.backbone(view)) for view in views)
        paired = self.partners(z, z_prime, moment)
        with full_precision(paired.z):
            loss = nt_xent(
                paired.z,
                paired.z_partner,
                temperature=self.temperature,
                partners=paired.indices,
            )
        return LossTerms(loss, {"contrast": loss, "nontrivial": paired.nontrivial})

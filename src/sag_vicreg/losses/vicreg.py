"""VICReg (Bardes et al., 2022, https://arxiv.org/abs/2105.04906)."""

from torch import Tensor

from sag_vicreg.losses.spread import spread
from sag_vicreg.losses.terms import VICRegTerms
from sag_vicreg.losses.two_views import TwoViewLoss, share_nontrivial
from sag_vicreg.pairing import Pairs, RandomWalkPairing


def invariance(z: Tensor, z_partner: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return ``mean_i w_i * mean_a (z_ia - z''_ia)²``; all weights are 1 where none are given.

    The mean over dimensions is the official code's, which the published weights 25, 25, 1 assume.
    """
    per_row = (z - z_partner).square().mean(dim=1)
    return per_row.mean() if weights is None else (weights * per_row).mean()


class VICRegLoss(TwoViewLoss):
    """Variance-invariance-covariance regularisation.

    Parameters
    ----------
    invariance, variance, covariance : float
        Weights of the terms, the paper's λ, μ and ν.
    pairing : RandomWalkPairing, optional
        Draws the partners, which makes it :class:`~sag_vicreg.losses.SAGVICRegLoss`.

    Examples
    --------
    >>> import torch
    >>> z, z_prime = torch.randn(2, 32, 64, requires_grad=True)
    >>> terms = VICRegLoss()(z, z_prime)
    >>> terms.total.backward()
    """

    def __init__(
        self,
        *,
        invariance: float = 25.0,
        variance: float = 25.0,
        covariance: float = 1.0,
        pairing: RandomWalkPairing | None = None,
    ) -> None:
        super().__init__(pairing)
        self.invariance = invariance
        self.variance = variance
        self.covariance = covariance

    def of_partners(self, z: Tensor, z_partner: Tensor, pairs: Pairs | None = None) -> VICRegTerms:
        """Add up the three terms."""
        s = invariance(z, z_partner, None if pairs is None else pairs.weights)
        (v, c), (v_partner, c_partner) = spread(z), spread(z_partner)
        v, c = (v + v_partner) / 2, c + c_partner
        return VICRegTerms(
            self.invariance * s + self.variance * v + self.covariance * c,
            {
                "invariance": s,
                "variance": v,
                "covariance": c,
                "nontrivial": share_nontrivial(z, pairs),
            },
        )

    def extra_repr(self) -> str:
        """Show the weights where a model is printed."""
        return (
            f"invariance={self.invariance}, variance={self.variance}, covariance={self.covariance}"
        )

"""VICReg (Bardes et al., 2022, https://arxiv.org/abs/2105.04906), its three terms and their sum.

The covariance term never builds the d x d matrix where the batch is smaller than d; see
:func:`covariance`.
"""

import torch
from torch import Tensor, nn

from sag_vicreg.losses.terms import VICRegTerms
from sag_vicreg.pairing import Pairs, full_precision, gather_views


def invariance(z: Tensor, z_partner: Tensor, weights: Tensor | None = None) -> Tensor:
    """``mean_i w_i * mean_d (z_i - z''_i)²``; all weights 1 where none are given.

    The mean over dimensions is the official code's, which the published weights 25, 25, 1 assume.
    """
    per_row = (z - z_partner).square().mean(dim=1)
    return per_row.mean() if weights is None else (weights * per_row).mean()


def variance(z: Tensor, *, gamma: float = 1.0, eps: float = 1e-4) -> Tensor:
    """``mean_d max(0, gamma - sqrt(var_d + eps))``, variances unbiased."""
    return torch.relu(gamma - torch.sqrt(z.var(dim=0) + eps)).mean()


def covariance(z: Tensor) -> Tensor:
    """Sum of squared off-diagonal covariances over d, from the cheaper of two exact sides.

    With ``Zc`` the centred batch, ``||Zcᵀ Zc||_F = ||Zc Zcᵀ||_F``: for n < d the n x n Gram matrix
    gives the same number in n/d of the time and (n/d)² of the memory.
    """
    n, d = z.shape
    return covariance_from_gram(z) if n < d else covariance_from_features(z)


def covariance_from_gram(z: Tensor) -> Tensor:
    """Take the term from ``G = Zc Zcᵀ / (n - 1)``: ``(sum G² - sum_d var_d²) / d``."""
    n, d = z.shape
    centred = z - z.mean(dim=0)
    gram = centred @ centred.T / (n - 1)
    variances = centred.square().sum(dim=0) / (n - 1)
    return (gram.square().sum() - variances.square().sum()) / d


def covariance_from_features(z: Tensor) -> Tensor:
    """Take the term from ``C = Zcᵀ Zc / (n - 1)``: ``sum_{a != b} C_ab² / d``."""
    n, d = z.shape
    centred = z - z.mean(dim=0)
    off_diagonal = (centred.T @ centred / (n - 1)).fill_diagonal_(0)
    return off_diagonal.square().sum() / d


class VICRegLoss(nn.Module):
    """Variance-invariance-covariance regularisation of two views.

    With several processes it is the loss of the whole batch, the same on each; behind
    DistributedDataParallel the gradients are exactly those of one process (``docs/method.md``).

    Parameters
    ----------
    invariance, variance, covariance : float
        Weights of the terms, the paper's λ, μ and ν.

    Examples
    --------
    >>> z, z_prime = torch.randn(2, 32, 64, requires_grad=True)
    >>> terms = VICRegLoss()(z, z_prime)
    >>> terms.total.backward()
    """

    def __init__(
        self, *, invariance: float = 25.0, variance: float = 25.0, covariance: float = 1.0
    ) -> None:
        super().__init__()
        self.invariance = invariance
        self.variance = variance
        self.covariance = covariance

    def forward(self, z: Tensor, z_prime: Tensor) -> VICRegTerms:
        """Compare the (n, d) embeddings of two views, each row with its own other view."""
        views = gather_views(z, z_prime)
        return self.of_partners(views.z, views.z_prime)

    def of_partners(self, z: Tensor, z_partner: Tensor, pairs: Pairs | None = None) -> VICRegTerms:
        """Add up the terms for rows already paired; ``pairs`` brings their weights."""
        with full_precision(z):
            s = invariance(z, z_partner, None if pairs is None else pairs.weights)
            v = (variance(z) + variance(z_partner)) / 2
            c = covariance(z) + covariance(z_partner)
            total = self.invariance * s + self.variance * v + self.covariance * c
        nontrivial = z.new_zeros(()) if pairs is None else pairs.nontrivial
        return VICRegTerms(
            total, {"invariance": s, "variance": v, "covariance": c, "nontrivial": nontrivial}
        )

    def extra_repr(self) -> str:
        """Show the weights where a model is printed."""
        return (
            f"invariance={self.invariance}, variance={self.variance}, covariance={self.covariance}"
        )

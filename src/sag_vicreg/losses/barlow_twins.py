"""Barlow Twins (Zbontar et al., 2021, https://arxiv.org/abs/2103.03230).

Its cross-correlation is of the whole batch, over all processes. Where the batch is smaller than d
the d x d matrix is never built: with standardised views A and B (n x d), ``C = Aᵀ B / n``, the sum
of all its squares is ``sum((A Aᵀ) ∘ (B Bᵀ)) / n²`` and its diagonal is ``mean_i A_ia B_ia``.
"""

from torch import Tensor
from torch.nn.functional import batch_norm

from sag_vicreg.losses.two_views import LossTerms, TwoViewLoss
from sag_vicreg.pairing import RandomWalkPairing, WalkedViews


def cross_correlation_terms(z: Tensor, z_partner: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``sum_a (1 - C_aa)²`` and ``sum_{a != b} C_ab²``."""
    n, d = z.shape
    a, b = (batch_norm(view, None, None, training=True) for view in (z, z_partner))
    if n < d:
        diagonal = (a * b).mean(dim=0)
        all_squares = ((a @ a.T) * (b @ b.T)).sum() / n**2
        off_diagonal = all_squares - diagonal.square().sum()
    else:
        correlation = a.T @ b / n
        diagonal = correlation.diagonal()
        off_diagonal = (correlation - diagonal.diag()).square().sum()
    return (1 - diagonal).square().sum(), off_diagonal


class BarlowTwinsLoss(TwoViewLoss):
    """Push the views' cross-correlation to the identity. The walk's weights are not used.

    Parameters
    ----------
    redundancy : float
        Weight of the off-diagonal term, the paper's λ.
    pairing : RandomWalkPairing, optional
        Draws the partners; without it they are the own views.

    Examples
    --------
    >>> import torch
    >>> z, z_prime = torch.randn(2, 32, 64, requires_grad=True)
    >>> BarlowTwinsLoss()(z, z_prime).total.backward()
    """

    def __init__(
        self, *, redundancy: float = 5e-3, pairing: RandomWalkPairing | None = None
    ) -> None:
        super().__init__(pairing)
        self.redundancy = redundancy

    def of_partners(self, walked: WalkedViews) -> LossTerms:
        """Add up the two terms."""
        invariance, redundancy = cross_correlation_terms(walked.z, walked.z_partner)
        total = invariance + self.redundancy * redundancy
        return LossTerms(total, {"invariance": invariance, "redundancy": redundancy})

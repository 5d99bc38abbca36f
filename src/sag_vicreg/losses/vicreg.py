"""VICReg and SAG-VICReg: the three terms, then the two losses.

Bardes et al., 2022, https://arxiv.org/abs/2105.04906. For a batch ``Z`` and its partners ``Z''``

    loss = λ s(Z, Z'') + μ (v(Z) + v(Z'')) / 2 + ν (c(Z) + c(Z''))

with :func:`invariance` s, variance v and covariance c. In VICReg ``Z''`` is the other view; in
SAG-VICReg it is what a random walk ends at (``sag_vicreg.pairing``), and s is weighted.
"""

from typing import Any, Literal, Unpack

import torch
from torch import Tensor

from sag_vicreg.distributed import full_precision
from sag_vicreg.losses.two_views import LossTerms, TwoViewLoss
from sag_vicreg.pairing import RandomWalkPairing, WalkedViews
from sag_vicreg.walk_options import WalkOptions

_GAMMA = 1.0
_EPS = 1e-4


def invariance(z: Tensor, z_partner: Tensor, weights: Tensor) -> Tensor:
    """Return ``mean_i w_i * mean_a (z_ia - z''_ia)²``.

    The mean over dimensions is the official code's, which the published weights 25, 25, 1 assume.
    """
    return (weights * (z - z_partner).square().mean(dim=1)).mean()


def variance_and_covariance(
    z: Tensor, *, side: Literal["gram", "features"] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the two terms of ``z``, (n, d) with n >= 2, that hold its rows and columns apart.

    Both are functions of the centred batch ``Zc`` alone. With unbiased variances ``var_a`` and
    covariances ``C = Zcᵀ Zc / (n - 1)``,

        v = mean_a max(0, 1 - sqrt(var_a + eps))        c = sum_{a != b} C_ab² / d

    and because ``||Zcᵀ Zc||_F = ||Zc Zcᵀ||_F``, the covariance term needs no d x d matrix: with the
    Gram matrix ``G = Zc Zcᵀ / (n - 1)`` it is ``(sum G² - sum_a var_a²) / d``, the same number in
    n/d of the time and (n/d)² of the memory.

    ``side`` names the matrix to use, G (n x n) or C (d x d); by default the smaller.
    """
    if side is None:
        side = "gram" if z.shape[0] < z.shape[1] else "features"
    variance, covariance = _VarianceAndCovariance.apply(z, side)  # type: ignore[no-untyped-call]
    return variance, covariance


def _moments(z: Tensor, side: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``Zc``, the variances, and G or C with its diagonal left out."""
    centred = z - z.mean(dim=0)
    variances = torch.linalg.vector_norm(centred, dim=0).square() / (len(z) - 1)
    if side == "gram":
        return centred, variances, (centred @ centred.T).div_(len(z) - 1)
    return centred, variances, (centred.T @ centred).div_(len(z) - 1).fill_diagonal_(0)


class _VarianceAndCovariance(torch.autograd.Function):
    """The two terms with their gradient written out.

        dc/dZ = 4 / (d (n-1)) * (G Zc - Zc diag(var))  =  4 / (d (n-1)) * Zc offdiag(C)
        dv/dZ = -1 / (d (n-1)) * Zc diag([std < 1] / std)

    Their columns sum to zero, so centring has nothing to add. It takes one matrix product where
    automatic differentiation takes two, and fewer passes over the batch.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, side: str) -> tuple[Tensor, Tensor]:
        centred, variances, matrix = _moments(z, side)
        ctx.side = side
        ctx.save_for_backward(z, centred, variances, matrix)
        off_diagonal = matrix.square().sum()
        if side == "gram":
            off_diagonal -= variances.square().sum()
        return torch.relu(_GAMMA - torch.sqrt(variances + _EPS)).mean(), off_diagonal / z.shape[1]

    @staticmethod
    def backward(ctx: Any, grad_v: Tensor, grad_c: Tensor) -> tuple[Tensor, None]:
        z, centred, variances, matrix = ctx.saved_tensors
        with full_precision(z):
            if torch.is_grad_enabled():  # a second derivative is wanted: the moments depend on z
                centred, variances, matrix = _moments(z, ctx.side)
            n, d = z.shape
            stds = torch.sqrt(variances + _EPS)
            of_c = grad_c * (4 / (d * (n - 1)))
            per_column = grad_v * (-1 / (d * (n - 1))) * (stds < _GAMMA) / stds
            if ctx.side == "gram":
                per_column = per_column - of_c * variances
                return (centred * per_column).addmm_(matrix * of_c, centred), None
            return (centred * per_column).addmm_(centred, matrix * of_c), None


class VICRegTerms(LossTerms):
    """The terms of VICReg and SAG-VICReg by name."""

    @property
    def invariance(self) -> Tensor:
        """``s(Z, Z'')``: mean weighted squared difference of partners."""
        return self.parts["invariance"]

    @property
    def variance(self) -> Tensor:
        """``v``: mean hinge of the standard deviations, averaged over the two sides."""
        return self.parts["variance"]

    @property
    def covariance(self) -> Tensor:
        """``c``: squared off-diagonal covariances over d, summed over the two sides."""
        return self.parts["covariance"]

    @property
    def nontrivial(self) -> Tensor:
        """Share of rows whose partner is another image's view; 0 for plain VICReg."""
        return self.parts["nontrivial"]


class VICRegLoss(TwoViewLoss):
    """Variance-invariance-covariance regularisation.

    Parameters
    ----------
    invariance, variance, covariance : float
        Weights of the terms, the paper's λ, μ and ν.
    pairing : RandomWalkPairing, optional
        Draws the partners, which makes it :class:`SAGVICRegLoss`.

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

    def of_partners(self, walked: WalkedViews) -> VICRegTerms:
        """Add up the three terms."""
        s = invariance(walked.z, walked.z_partner, walked.weights)
        v, c = variance_and_covariance(walked.z)
        v_other, c_other = variance_and_covariance(walked.z_partner)
        v, c = (v + v_other) / 2, c + c_other
        return VICRegTerms(
            self.invariance * s + self.variance * v + self.covariance * c,
            {"invariance": s, "variance": v, "covariance": c},
        )


class SAGVICRegLoss(VICRegLoss):
    """VICReg between each row and the partner its random walk ends at, weighted by affinity.

    Parameters
    ----------
    k
        Neighbours of a row.
    invariance, variance, covariance : float
        Weights of the terms, the paper's λ, μ and ν.
    **walk
        The other options of :class:`~sag_vicreg.pairing.RandomWalkPairing`.

    Examples
    --------
    >>> import torch
    >>> z, z_prime = torch.randn(2, 32, 64, requires_grad=True)
    >>> terms = SAGVICRegLoss(k=5)(z, z_prime, generator=torch.Generator().manual_seed(0))
    >>> terms.total.backward()
    >>> 0 <= float(terms.nontrivial) <= 1
    True
    """

    def __init__(
        self,
        k: int = 5,
        *,
        invariance: float = 25.0,
        variance: float = 25.0,
        covariance: float = 1.0,
        **walk: Unpack[WalkOptions],
    ) -> None:
        super().__init__(
            invariance=invariance,
            variance=variance,
            covariance=covariance,
            pairing=RandomWalkPairing(k, **walk),
        )

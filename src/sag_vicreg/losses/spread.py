"""VICReg's two regularisers of one side, variance and covariance, with their gradient.

Both are functions of the centred batch ``Zc`` (n x d) alone. With unbiased variances ``var_a`` and
covariances ``C = Zcᵀ Zc / (n - 1)``,

    v = mean_a max(0, 1 - sqrt(var_a + eps))        c = sum_{a != b} C_ab² / d

and because ``||Zcᵀ Zc||_F = ||Zc Zcᵀ||_F``, the covariance term needs no d x d matrix: with the
Gram matrix ``G = Zc Zcᵀ / (n - 1)`` it is ``(sum G² - sum_a var_a²) / d``, the same number in n/d
of the time and (n/d)² of the memory. The gradient is

    dc/dZ = 4 / (d (n-1)) * (G Zc - Zc diag(var))  =  4 / (d (n-1)) * Zc offdiag(C)
    dv/dZ = -1 / (d (n-1)) * Zc diag([std < 1] / std)

whose columns sum to zero, so centring has nothing to add. Written out, it takes one matrix product
where automatic differentiation takes two, and fewer passes over the batch.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from sag_vicreg.pairing import full_precision

_GAMMA = 1.0
_EPS = 1e-4


def spread(z: Tensor, *, side: Literal["gram", "features"] | None = None) -> tuple[Tensor, Tensor]:
    """Return the variance and covariance terms of ``z``, (n, d) with n >= 2.

    ``side`` names the matrix to use, G (n x n) or C (d x d); by default the smaller.
    """
    if side is None:
        side = "gram" if z.shape[0] < z.shape[1] else "features"
    variance, covariance = _Spread.apply(z, side)  # type: ignore[no-untyped-call]
    return variance, covariance


def _moments(z: Tensor, side: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``Zc``, the variances, and G or C with its diagonal left out."""
    centred = z - z.mean(dim=0)
    variances = torch.linalg.vector_norm(centred, dim=0).square() / (len(z) - 1)
    if side == "gram":
        return centred, variances, (centred @ centred.T).div_(len(z) - 1)
    return centred, variances, (centred.T @ centred).div_(len(z) - 1).fill_diagonal_(0)


class _Spread(torch.autograd.Function):
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

"""The affinity W between two views of a batch (paper, section 4.3 and its implementation appendix).

W is sparse by construction, k neighbours a row, and stays so: indices and weights, (n, k) each.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.pairing.views import (
    check_finite,
    check_rows,
    check_views,
    full_precision,
    working_dtype,
)

ScaleOver = Literal["batch", "neighbors"]

_SMALLEST_SCALE = 1e-7


@dataclass(frozen=True, eq=False)
class Affinity:
    """The k nearest rows of the other view, nearest first, and their weights.

    Attributes
    ----------
    indices : (n, k) int64
        ``indices[i, 0]`` is the nearest row of ``z_prime`` to ``z[i]``.
    weights : (n, k) float
        ``W[i, indices[i]]``: 1 for the nearest, then falling. Every other entry of W is 0.
    n_columns : int
        How many rows of ``z_prime`` there were to choose from.
    """

    indices: Tensor
    weights: Tensor
    n_columns: int

    @property
    def transition(self) -> Tensor:
        """The random walk's ``P[i, indices[i]]``, (n, k): the weights with rows summing to 1."""
        return self.weights / self.weights.sum(dim=1, keepdim=True)

    def dense(self) -> Tensor:
        """W as the paper writes it, (n, n), zero off the neighbours."""
        full = self.weights.new_zeros(len(self.weights), self.n_columns)
        return full.scatter_(1, self.indices, self.weights)


@torch.no_grad()
def neighbor_affinity(
    z: Tensor,
    z_prime: Tensor,
    *,
    k: int = 5,
    percentile: float = 20.0,
    scale_over: ScaleOver = "batch",
) -> Affinity:
    """Weigh each row's k nearest rows of the other view by a locally scaled Gaussian kernel.

    With ``d[i, j] = 1 - cos(z_i, z'_j)``, shifted in each row so that the nearest is at 0,
    ``W[i, j] = exp(-(d[i, j] / scale_i)²)`` for the k nearest and 0 elsewhere, where ``scale_i``
    is a percentile of the row's shifted distances, at least 1e-7. W is not symmetric. The own view
    ``z'_i`` is a neighbour like any other. No gradient flows through it.

    Parameters
    ----------
    z, z_prime : (n, d) floating point
        Embeddings of the two views. A zero vector has cosine 0 to everything.
    k : int
        Neighbours kept in each row.
    percentile : float
        0 to 100, linearly interpolated as NumPy's.
    scale_over : {"batch", "neighbors"}
        What the percentile runs over: all n distances of the row (the paper's "distance to every
        sample point"), or only those of the k neighbours.

    Examples
    --------
    >>> import torch
    >>> z = torch.eye(4)
    >>> affinity = neighbor_affinity(z, z, k=2)
    >>> affinity.indices[:, 0].tolist()
    [0, 1, 2, 3]
    """
    check_kernel(k=k, percentile=percentile, scale_over=scale_over)
    check_views(z, z_prime)
    check_rows(z)
    dtype = working_dtype(z, z_prime)
    return affinity_to_batch(
        z.to(dtype), z_prime.to(dtype), k=k, percentile=percentile, scale_over=scale_over
    )


def check_kernel(*, k: int, percentile: float, scale_over: str) -> None:
    """Refuse kernel options that no batch could satisfy."""
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"k must be an int, not {k!r}")
    if k < 1:
        raise InputError(f"k is {k}: each row needs at least 1 neighbour")
    if not 0 <= percentile <= 100:
        raise InputError(f"percentile is {percentile}: it must lie in 0 to 100")
    if scale_over not in get_args(ScaleOver):
        raise unknown_name("scale_over", scale_over, get_args(ScaleOver))


@torch.no_grad()
def affinity_to_batch(
    z: Tensor, z_prime: Tensor, *, k: int, percentile: float, scale_over: ScaleOver
) -> Affinity:
    """Compute the affinity of some rows ``z`` to a whole batch ``z_prime``.

    Shapes and dtypes have been checked; values are checked here, at no cost while all is well.
    """
    n = len(z_prime)
    if k > n:
        raise InputError(f"k is {k} but the batch has {n} rows: lower k or enlarge the batch")
    population = n if scale_over == "batch" else k
    position = percentile / 100 * (population - 1)
    below = math.floor(position)
    above = min(below + 1, population - 1)

    z, z_norm, z_prime, z_prime_norm = _measurable(z, z_prime)
    with full_precision(z):
        # cos(z_i, z'_j) times |z_i|, which leaves the order within a row as it is.
        cosine = (z @ z_prime.T).div_(z_prime_norm)
    # One partial sort serves both the neighbours and the percentile's two order statistics.
    nearest, order = cosine.topk(max(k, above + 1), dim=1)
    # 1 - cos, shifted by the row's nearest: the 1 cancels, and with it its rounding.
    shifted = (nearest[:, :1] - nearest) / z_norm[:, None]
    scale = torch.lerp(shifted[:, below], shifted[:, above], position - below)
    scale = scale.clamp_min(_SMALLEST_SCALE)
    weights = torch.exp(-(shifted[:, :k] / scale[:, None]).square())
    return Affinity(order[:, :k].contiguous(), weights, n)


def _measurable(z: Tensor, z_prime: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give rows whose products neither overflow nor vanish, with their norms, 1 for a zero row."""
    limits = torch.finfo(z.dtype)
    norms = torch.linalg.vector_norm(z, dim=1), torch.linalg.vector_norm(z_prime, dim=1)
    both = torch.cat(norms)
    # Norms tell: a NaN or infinite entry makes its row's norm so, and fails the comparison.
    if bool(((both > limits.tiny**0.5 / limits.eps) & (both < limits.max**0.5)).all()):
        return z, norms[0], z_prime, norms[1]
    check_finite(z, z_prime)
    return *_rescaled(z), *_rescaled(z_prime)


def _rescaled(rows: Tensor) -> tuple[Tensor, Tensor]:
    peaks = rows.abs().amax(dim=1, keepdim=True)
    rows = rows / peaks.masked_fill(peaks == 0, 1)
    norms = torch.linalg.vector_norm(rows, dim=1)
    return rows, norms.masked_fill(norms == 0, 1)

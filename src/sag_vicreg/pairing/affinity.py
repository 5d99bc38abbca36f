"""The affinity W between two views of a batch (paper, section 4.3 and its implementation appendix).

W is sparse by construction, k neighbours per row, and stays so: indices and weights, (n, k) each.
"""

import math
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from sag_vicreg.distributed import check_finite, check_rows, full_precision, working_views
from sag_vicreg.errors import InputError, check_name
from sag_vicreg.walk_options import Around, ScaleOver

_SMALLEST_SCALE = 1e-7


@dataclass(frozen=True, eq=False)
class Affinity:
    """The k nearest rows of ``z_prime`` to each row, nearest first, and their weights.

    Attributes
    ----------
    indices : (n, k) int64
        ``indices[i, 0]`` is the row of ``z_prime`` nearest to row i.
    weights : (n, k) float
        ``W[i, indices[i]]``: 1 for the nearest, then falling. Every other entry of W is 0.
    n_columns : int
        How many rows ``z_prime`` has.
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
    around: Around = "view",
) -> Affinity:
    """Weigh each row's k nearest rows of the other view by a locally scaled Gaussian kernel.

    With ``d[i, j] = 1 - cos(z_i, z'_j)``, shifted in each row so that the nearest is at 0,
    ``W[i, j] = exp(-(d[i, j] / scale_i)²)`` for the k nearest and 0 elsewhere, where ``scale_i``
    is a percentile of the row's shifted distances, at least 1e-7. W is not symmetric. No gradient
    flows through it.

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
    around : {"view", "own_view"}
        Whose neighbours: those of ``z_i``, among which the own view ``z'_i`` is a row like any
        other; or those of ``z'_i`` itself, where it is always the first, at distance 0.

    Examples
    --------
    >>> import torch
    >>> z = torch.eye(4)
    >>> affinity = neighbor_affinity(z, z, k=2)
    >>> affinity.indices[:, 0].tolist()
    [0, 1, 2, 3]
    """
    check_kernel(k=k, percentile=percentile, scale_over=scale_over, around=around)
    z, z_prime = working_views(z, z_prime)
    check_rows(z)
    return affinity_to(
        z if around == "view" else z_prime,
        z_prime,
        k=k,
        percentile=percentile,
        scale_over=scale_over,
        own=None if around == "view" else torch.arange(len(z), device=z.device),
    )


def check_kernel(*, k: int, percentile: float, scale_over: str, around: str) -> None:
    """Refuse kernel options that no batch could satisfy."""
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"k must be an int, not {k!r}")
    if k < 1:
        raise InputError(f"k is {k}: each row needs at least 1 neighbour")
    if not 0 <= percentile <= 100:
        raise InputError(f"percentile is {percentile}: it must lie in 0 to 100")
    for name, value, valid in (("scale_over", scale_over, ScaleOver), ("around", around, Around)):
        check_name(name, value, get_args(valid))


@torch.no_grad()
def affinity_to(
    z: Tensor,
    z_prime: Tensor,
    *,
    k: int,
    percentile: float,
    scale_over: ScaleOver,
    own: Tensor | None = None,
) -> Affinity:
    """Compute the affinity of some rows ``z`` to all rows ``z_prime``.

    ``own`` names the row of ``z_prime`` that each row is itself: it comes first, whatever rounding
    or a copy of it says. Shapes and dtypes have been checked; values are checked here, at no cost
    while all is well, and not at all under ``torch.compile``.
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
    if own is not None:
        at_zero = cosine.amax(dim=1)
        cosine.scatter_(1, own[:, None], torch.inf)
    # One partial sort serves both the neighbours and the percentile's two order statistics.
    nearest, order = cosine.topk(max(k, above + 1), dim=1)
    if own is not None:
        nearest[:, 0] = at_zero
    # 1 - cos, shifted by the row's nearest: the 1 cancels, and with it its rounding.
    shifted = (nearest[:, :1] - nearest) / z_norm[:, None]
    scale = torch.lerp(shifted[:, below], shifted[:, above], position - below)
    scale = scale.clamp_min(_SMALLEST_SCALE)
    weights = torch.exp(-(shifted[:, :k] / scale[:, None]).square())
    return Affinity(order[:, :k].contiguous(), weights, n)


@torch.no_grad()
def own_view_rank(z: Tensor, z_prime: Tensor) -> Tensor:
    """Count, for each row, the rows of ``z_prime`` nearer to it than its own view, (n,) int64.

    0 where the own view is the nearest; below k where it is among the k nearest. Training keeps an
    eye on it: where it rises, nothing holds the two views of an image together.
    """
    z, _, z_prime, norms = _measurable(*working_views(z, z_prime))
    with full_precision(z):
        cosine = (z @ z_prime.T).div_(norms)
    return (cosine > cosine.diagonal()[:, None]).sum(dim=1)


def _measurable(z: Tensor, z_prime: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give rows whose products neither overflow nor vanish, with their norms, 1 for a zero row."""
    limits = torch.finfo(z.dtype)
    norms = torch.linalg.vector_norm(z, dim=1), torch.linalg.vector_norm(z_prime, dim=1)
    if torch.compiler.is_compiling():
        # Neither looked at nor rescaled, as that would break the graph: only zero rows are safe.
        first, second = (each.masked_fill(each == 0, 1) for each in norms)
        return z, first, z_prime, second
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

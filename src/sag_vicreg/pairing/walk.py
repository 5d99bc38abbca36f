"""One step of the random walk: a partner for every row (paper, appendix on random walks)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sag_vicreg.errors import InputError
from sag_vicreg.pairing.affinity import Affinity


@dataclass(frozen=True, eq=False)
class Pairs:
    """Row i of one view is paired with row ``indices[i]`` of the other.

    Attributes
    ----------
    indices : (n,) int64
        Partners, rows of ``z_prime``. ``indices[i] == i`` is the row's own view.
    weights : (n,) float
        ``W[i, indices[i]]``, in (0, 1].
    """

    indices: Tensor
    weights: Tensor

    @property
    def nontrivial(self) -> Tensor:
        """Share of rows paired with another image's view; 0 means the walk does nothing."""
        own = torch.arange(len(self.indices), device=self.indices.device)
        return (self.indices != own).to(self.weights.dtype).mean()


@torch.no_grad()
def random_walk(
    affinity: Affinity,
    *,
    generator: torch.Generator | None = None,
    uniforms: Tensor | None = None,
) -> Pairs:
    """Walk one step from every row: draw ``j`` with probability ``P[i, j]``.

    The draw is by inverse CDF from one uniform number a row, so the same numbers give the same
    pairs on every device.

    Parameters
    ----------
    affinity : Affinity
        From :func:`~sag_vicreg.pairing.neighbor_affinity`.
    generator : torch.Generator, optional
        Makes the draw reproducible; PyTorch's default generator otherwise.
    uniforms : (n,) floating point, optional
        The uniform numbers themselves, in [0, 1), instead of a draw.

    Examples
    --------
    >>> import torch
    >>> from sag_vicreg.pairing import neighbor_affinity
    >>> z = torch.eye(4)
    >>> random_walk(neighbor_affinity(z, z, k=1)).indices.tolist()
    [0, 1, 2, 3]
    """
    n = len(affinity.indices)
    if uniforms is None:
        uniforms = draw_uniforms(n, generator=generator, device=affinity.weights.device)
    else:
        check_uniforms(uniforms, n)
    reached = uniforms.to(affinity.weights)[:, None]
    cdf = affinity.transition.cumsum(dim=1)
    # The second condition holds where rounding leaves the CDF just short of a uniform near 1:
    # the walk then ends at the last neighbour of positive weight, never past it.
    steps = ((cdf <= reached) & (cdf < cdf[:, -1:])).sum(dim=1, keepdim=True)
    return Pairs(
        affinity.indices.gather(1, steps).squeeze(1), affinity.weights.gather(1, steps).squeeze(1)
    )


def draw_uniforms(n: int, *, generator: torch.Generator | None, device: torch.device) -> Tensor:
    """Draw n numbers in [0, 1) where the generator lives and bring them to ``device``."""
    source = device if generator is None else generator.device
    return torch.rand(n, generator=generator, device=source).to(device)


def check_uniforms(uniforms: Tensor, n: int) -> None:
    """Refuse uniforms that are not n numbers in [0, 1)."""
    if not uniforms.is_floating_point():
        raise TypeError(f"uniforms are {uniforms.dtype}: they must be floating point")
    if uniforms.shape != (n,):
        raise InputError(f"uniforms have shape {tuple(uniforms.shape)}: {n} rows need ({n},)")
    if not bool(((uniforms >= 0) & (uniforms < 1)).all()):
        raise InputError(
            f"uniforms run from {uniforms.min():g} to {uniforms.max():g}: they must lie in [0, 1)"
        )


def check_pairs(pairs: Pairs, n: int) -> None:
    """Refuse pairs that do not give each of n rows one partner among n and one finite weight."""
    if not isinstance(pairs, Pairs):
        raise TypeError(f"pairs must be Pairs(indices, weights), not {type(pairs).__name__}")
    indices, weights = pairs.indices, pairs.weights
    if indices.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"pairs.indices are {indices.dtype}: they must be int64")
    if not weights.is_floating_point():
        raise TypeError(f"pairs.weights are {weights.dtype}: they must be floating point")
    if indices.shape != (n,) or weights.shape != (n,):
        raise InputError(
            f"pairs have indices of shape {tuple(indices.shape)} and weights of shape "
            f"{tuple(weights.shape)}: the whole batch, over all processes, has {n} rows"
        )
    if not bool(((indices >= 0) & (indices < n)).all()):
        raise InputError(
            f"pairs.indices run from {indices.min()} to {indices.max()}: "
            f"partners are rows 0 to {n - 1}"
        )
    if not bool((weights.isfinite() & (weights >= 0)).all()):
        raise InputError("pairs.weights hold negative, NaN or infinite values: they must not")

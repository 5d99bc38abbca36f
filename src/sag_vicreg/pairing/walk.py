"""The random walk: a partner for every row, and the module that draws them in front of any loss.

Section 4.3 of the paper and its appendix on random walks. :func:`random_walk` is the walk itself;
:class:`RandomWalkPairing` puts affinity, walk and all options together.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sag_vicreg.distributed import GlobalViews, check_finite, gather_rows, gather_views
from sag_vicreg.errors import InputError
from sag_vicreg.pairing.affinity import Affinity, affinity_to, check_kernel
from sag_vicreg.walk_options import Around, ScaleOver


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

    The draw is by inverse CDF from one uniform number per row, so the same numbers give the same
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
    uniforms = _one_per_row(len(affinity.indices), uniforms, generator, affinity.weights.device)
    reached = uniforms.to(affinity.weights)[:, None]
    cdf = affinity.transition.cumsum(dim=1)
    # The second condition holds where rounding leaves the CDF just short of a uniform near 1:
    # the walk then ends at the last neighbour of positive weight, never past it.
    steps = ((cdf <= reached) & (cdf < cdf[:, -1:])).sum(dim=1, keepdim=True)
    return Pairs(
        affinity.indices.gather(1, steps).squeeze(1), affinity.weights.gather(1, steps).squeeze(1)
    )


@dataclass(frozen=True, eq=False)
class WalkedViews(Pairs):
    """A batch with the walk's partners: ``z[i]`` goes with ``z_partner[i]``, weighted.

    Attributes
    ----------
    z, z_partner : (n, d) float32 or float64
        ``z_partner = z_prime[indices]``, the paper's ``z''``. Gradients flow through both. With
        several processes these are the rows of all of them, the same on each.
    views : GlobalViews
        The two views of the whole batch, as they were before anybody was paired.
    indices, weights : (n,)
        As in :class:`Pairs`.
    """

    z_partner: Tensor
    views: GlobalViews

    @property
    def z(self) -> Tensor:
        """The rows that were paired, (n, d)."""
        return self.views.z

    @classmethod
    def at_home(cls, views: GlobalViews) -> "WalkedViews":
        """Pair every row with its own view, with weight 1: nobody walks."""
        check_finite(views.z, views.z_prime)
        own = torch.arange(len(views.z), device=views.z.device)
        return cls(own, torch.ones_like(views.z[:, 0]), views.z_prime, views)


class RandomWalkPairing(nn.Module):
    """Pair each row with a partner drawn by a random walk over the batch's similarity graph.

    Where ``torch.distributed`` runs with several processes, the batch is that of all of them: each
    process draws for its own rows, all draws are gathered, and what comes out is the whole walked
    batch. A loss put behind it must therefore not gather again.

    Parameters
    ----------
    k, percentile, scale_over, around
        As in :func:`~sag_vicreg.pairing.neighbor_affinity`, but by default around the own view and
        scaled over its neighbours: so the own view is always a candidate, and nothing is lost of
        VICReg's hold on it. ``around="view", scale_over="batch"`` is the paper's literal reading.
    walk_after : float
        Share of training on own views alone before anybody walks. Where it is not 0, every call
        names its ``progress``.

    Examples
    --------
    >>> import torch
    >>> pairing = RandomWalkPairing(k=5)
    >>> walked = pairing(torch.randn(32, 16), torch.randn(32, 16))
    >>> walked.z_partner.shape
    torch.Size([32, 16])
    """

    def __init__(
        self,
        k: int = 5,
        *,
        percentile: float = 20.0,
        scale_over: ScaleOver = "neighbors",
        around: Around = "own_view",
        walk_after: float = 0.0,
    ) -> None:
        super().__init__()
        check_kernel(k=k, percentile=percentile, scale_over=scale_over, around=around)
        if not 0 <= walk_after <= 1:
            raise InputError(f"walk_after is {walk_after}: it is a share, 0 to 1")
        self.k = k
        self.percentile = percentile
        self.scale_over: ScaleOver = scale_over
        self.around: Around = around
        self.walk_after = walk_after

    def forward(
        self,
        z: Tensor,
        z_prime: Tensor,
        *,
        progress: float | None = None,
        generator: torch.Generator | None = None,
        uniforms: Tensor | None = None,
        pairs: Pairs | None = None,
    ) -> WalkedViews:
        """Draw a partner for each row.

        Parameters
        ----------
        z, z_prime : (n_local, d) floating point
            The views' embeddings on this process.
        progress : float, optional
            Share of training that is done, for ``walk_after``.
        generator : torch.Generator, optional
            Uniforms are drawn for the whole batch and each process uses those of its own rows:
            generators seeded alike on all processes give the same pairs for any number of them.
        uniforms : (n,) floating point, optional
            The uniform numbers of the whole batch themselves, in [0, 1).
        pairs : Pairs, optional
            Pairs of the whole batch, used as they are; nothing is drawn.
        """
        views = gather_views(z, z_prime)
        if pairs is not None or len(views.sizes) > 1 or self.around == "own_view":
            # The search refuses broken rows at no cost, but sees this process's alone, and around
            # the own view one side of them; processes must refuse a broken one together.
            check_finite(views.z, views.z_prime)
        if pairs is None:
            if not self.walks_at(progress):
                return WalkedViews.at_home(views)
            pairs = self._draw(views, generator, uniforms)
        else:
            _check_pairs(pairs, len(views.z))
            pairs = Pairs(pairs.indices.to(views.z.device), pairs.weights.to(views.z))
        z_partner = views.z_prime.index_select(0, pairs.indices)
        return WalkedViews(pairs.indices, pairs.weights, z_partner, views)

    def walks_at(self, progress: float | None) -> bool:
        """Say whether rows walk once ``progress`` of training is done.

        This is where walk or not is decided, for every loss and method.
        """
        if progress is None and self.walk_after:
            raise InputError(
                "walk_after depends on how far training is: pass progress, the share that is done"
            )
        return progress is None or progress >= self.walk_after

    @torch.no_grad()
    def _draw(
        self,
        views: GlobalViews,
        generator: torch.Generator | None,
        uniforms: Tensor | None,
    ) -> Pairs:
        n, device = len(views.z), views.z.device
        uniforms = _one_per_row(n, uniforms, generator, device)
        at_own_view = self.around == "own_view"
        affinity = affinity_to(
            (views.z_prime if at_own_view else views.z)[views.own],
            views.z_prime,
            k=self.k,
            percentile=self.percentile,
            scale_over=self.scale_over,
            own=torch.arange(n, device=device)[views.own] if at_own_view else None,
        )
        drawn = random_walk(affinity, uniforms=uniforms[views.own])
        return Pairs(
            gather_rows(drawn.indices, views.sizes),
            gather_rows(drawn.weights.to(views.z.dtype), views.sizes),
        )

    def extra_repr(self) -> str:
        """Show the options where a model is printed."""
        shown = ("k", "percentile", "scale_over", "around", "walk_after")
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)


def _one_per_row(
    n: int, uniforms: Tensor | None, generator: torch.Generator | None, device: torch.device
) -> Tensor:
    """Return n numbers in [0, 1) on ``device``: those given, or drawn where the generator lives."""
    if uniforms is None:
        source = device if generator is None else generator.device
        return torch.rand(n, generator=generator, device=source).to(device)
    if not uniforms.is_floating_point():
        raise TypeError(f"uniforms are {uniforms.dtype}: they must be floating point")
    if uniforms.shape != (n,):
        raise InputError(f"uniforms have shape {tuple(uniforms.shape)}: {n} rows need {(n,)}")
    # Under torch.compile values cannot be looked at.
    if not torch.compiler.is_compiling() and not bool(((uniforms >= 0) & (uniforms < 1)).all()):
        raise InputError(
            f"uniforms run from {uniforms.min():g} to {uniforms.max():g}: they must lie in [0, 1)"
        )
    return uniforms.to(device)


def _check_pairs(pairs: Pairs, n: int) -> None:
    """Refuse pairs that do not give each of n rows one partner and one finite weight."""
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
    if torch.compiler.is_compiling():  # values cannot be looked at
        return
    if not bool(((indices >= 0) & (indices < n)).all()):
        raise InputError(
            f"pairs.indices run from {indices.min()} to {indices.max()}: "
            f"partners are rows 0 to {n - 1}"
        )
    if not bool((weights.isfinite() & (weights >= 0)).all()):
        raise InputError("pairs.weights hold negative, NaN or infinite values: they must not")

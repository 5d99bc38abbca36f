"""Random-walk pairing as a module to put in front of any two-view loss."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sag_vicreg.pairing.affinity import ScaleOver, affinity_to_batch, check_kernel
from sag_vicreg.pairing.gather import GlobalViews, gather_rows, gather_views
from sag_vicreg.pairing.views import check_finite
from sag_vicreg.pairing.walk import Pairs, check_pairs, check_uniforms, draw_uniforms, random_walk


@dataclass(frozen=True, eq=False)
class WalkedViews(Pairs):
    """A batch with the walk's partners: ``z[i]`` goes with ``z_partner[i]``, weighted.

    Attributes
    ----------
    z, z_partner : (n, d) float32 or float64
        ``z_partner = z_prime[indices]``, the paper's ``z''``; gradients flow through both. With
        several processes these are the rows of all of them, the same on each.
    indices, weights : (n,)
        As in :class:`Pairs`.
    """

    z: Tensor
    z_partner: Tensor


class RandomWalkPairing(nn.Module):
    """Pair each row with a partner drawn by a random walk over the batch's similarity graph.

    Where ``torch.distributed`` runs with several processes, the batch is that of all of them: each
    process draws for its own rows, all draws are gathered, and what comes out is the whole walked
    batch. A loss put behind it must therefore not gather again. See ``docs/method.md``.

    Parameters
    ----------
    k, percentile, scale_over
        As in :func:`~sag_vicreg.pairing.neighbor_affinity`.

    Examples
    --------
    >>> import torch
    >>> pairing = RandomWalkPairing(k=5)
    >>> walked = pairing(torch.randn(32, 16), torch.randn(32, 16))
    >>> walked.z_partner.shape
    torch.Size([32, 16])
    """

    def __init__(
        self, k: int = 5, *, percentile: float = 20.0, scale_over: ScaleOver = "batch"
    ) -> None:
        super().__init__()
        check_kernel(k=k, percentile=percentile, scale_over=scale_over)
        self.k = k
        self.percentile = percentile
        self.scale_over: ScaleOver = scale_over

    def forward(
        self,
        z: Tensor,
        z_prime: Tensor,
        *,
        generator: torch.Generator | None = None,
        uniforms: Tensor | None = None,
        pairs: Pairs | None = None,
    ) -> WalkedViews:
        """Draw a partner for each row.

        Parameters
        ----------
        z, z_prime : (n_local, d) floating point
            The views' embeddings on this process.
        generator : torch.Generator, optional
            Uniforms are drawn for the whole batch and each process uses those of its own rows:
            generators seeded alike on all processes give the same pairs for any number of them.
        uniforms : (n,) floating point, optional
            The uniform numbers of the whole batch themselves, in [0, 1).
        pairs : Pairs, optional
            Pairs of the whole batch, used as they are; nothing is drawn.
        """
        views = gather_views(z, z_prime)
        if pairs is not None or len(views.sizes) > 1:
            # The draw sees this process's rows only; processes must refuse a broken one together.
            check_finite(views.z, views.z_prime)
        if pairs is None:
            pairs = self._draw(views, generator, uniforms)
        else:
            check_pairs(pairs, len(views.z))
            pairs = Pairs(pairs.indices.to(views.z.device), pairs.weights.to(views.z))
        return WalkedViews(
            pairs.indices, pairs.weights, views.z, views.z_prime.index_select(0, pairs.indices)
        )

    @torch.no_grad()
    def _draw(
        self, views: GlobalViews, generator: torch.Generator | None, uniforms: Tensor | None
    ) -> Pairs:
        n = len(views.z)
        if uniforms is None:
            uniforms = draw_uniforms(n, generator=generator, device=views.z.device)
        else:
            check_uniforms(uniforms, n)
        affinity = affinity_to_batch(
            views.z[views.own],
            views.z_prime,
            k=self.k,
            percentile=self.percentile,
            scale_over=self.scale_over,
        )
        drawn = random_walk(affinity, uniforms=uniforms[views.own])
        return Pairs(
            gather_rows(drawn.indices, views.sizes), gather_rows(drawn.weights, views.sizes)
        )

    def extra_repr(self) -> str:
        """Show the kernel's options where a model is printed."""
        return f"k={self.k}, percentile={self.percentile}, scale_over={self.scale_over!r}"

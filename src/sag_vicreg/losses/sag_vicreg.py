"""SAG-VICReg: VICReg whose positive pairs come from a random walk (paper, algorithm 1)."""

from sag_vicreg.losses.vicreg import VICRegLoss
from sag_vicreg.pairing import RandomWalkPairing, ScaleOver


class SAGVICRegLoss(VICRegLoss):
    """VICReg between each row and the partner its random walk ends at, weighted by affinity.

    Parameters
    ----------
    k, percentile, scale_over
        The pairing's, as in :func:`~sag_vicreg.pairing.neighbor_affinity`.
    invariance, variance, covariance : float
        Weights of the terms, the paper's λ, μ and ν.

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
        percentile: float = 20.0,
        scale_over: ScaleOver = "batch",
        invariance: float = 25.0,
        variance: float = 25.0,
        covariance: float = 1.0,
    ) -> None:
        super().__init__(
            invariance=invariance,
            variance=variance,
            covariance=covariance,
            pairing=RandomWalkPairing(k, percentile=percentile, scale_over=scale_over),
        )

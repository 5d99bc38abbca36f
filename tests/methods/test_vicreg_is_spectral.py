"""The paper's section 4.1 as equations: VICReg is SpectralNet on the graph of an image's views."""

import pytest
import torch
from torch import Tensor

from sag_vicreg.losses import VICRegLoss
from sag_vicreg.losses.vicreg import variance_and_covariance
from sag_vicreg.methods.spectralnet import orthonormalize, spectralnet_loss


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def variance(y: Tensor) -> Tensor:
    return variance_and_covariance(y)[0]


def covariance(y: Tensor) -> Tensor:
    return variance_and_covariance(y)[1]


def centred_and_orthonormal(n: int, d: int) -> Tensor:
    """Y with zero column means and YᵀY / n = I: orthonormalise beside the constant, drop it."""
    beside = torch.cat((torch.ones(n, 1, dtype=torch.float64), randn(n, d)), dim=1)
    return orthonormalize(beside)[:, 1:]


@pytest.mark.parametrize(("n", "d"), [(2, 1), (7, 3), (32, 64)])
def test_invariance_is_spectralnets_loss_on_the_graph_of_views(n: int, d: int) -> None:
    z, z_prime = randn(n, d), randn(n, d, seed=1)
    # Node i is image i's first view and n + i its second; an edge of weight 1 joins the two.
    affinity = torch.zeros(2 * n, 2 * n, dtype=torch.float64)
    images = torch.arange(n)
    affinity[images, n + images] = affinity[n + images, images] = 1
    spectral = spectralnet_loss(torch.cat((z, z_prime)), affinity)
    torch.testing.assert_close(spectral * 2 * n / d, VICRegLoss()(z, z_prime).invariance)


@pytest.mark.parametrize(("n", "d"), [(8, 3), (50, 49), (200, 16)])
def test_the_orthogonality_constraint_zeroes_variance_and_covariance(n: int, d: int) -> None:
    y = centred_and_orthonormal(n, d)
    torch.testing.assert_close(y.T @ y / n, torch.eye(d, dtype=torch.float64))
    assert variance(y) == 0
    assert covariance(y) < 1e-25


def test_scaled_coordinates_stay_at_zero_and_shrunk_ones_do_not() -> None:
    """The terms fix directions, and lengths only from below: the converse holds up to a scale."""
    y = centred_and_orthonormal(40, 5)
    grown = y * torch.tensor([1.0, 1.5, 2.0, 5.0, 100.0], dtype=torch.float64)
    assert variance(grown) == 0
    assert covariance(grown) < 1e-20
    assert variance(0.9 * y) > 0


def test_where_the_terms_vanish_the_constraint_holds_up_to_a_scale_of_at_least_one() -> None:
    """Descend from anywhere to zero variance and covariance terms, then look at the moments."""
    y = (randn(60, 6) @ randn(6, 6, seed=1) + 3).requires_grad_()
    optimizer = torch.optim.LBFGS(
        [y], max_iter=400, tolerance_grad=1e-14, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> float:
        optimizer.zero_grad()
        # Squared, the hinge has no kink to get stuck at, and the same zeros.
        loss = variance(y).square() + covariance(y)
        loss.backward()
        return loss.item()

    optimizer.step(closure)
    assert variance(y) < 1e-6
    assert covariance(y) < 1e-12
    moments = torch.cov(y.detach().T)
    scale = moments.diagonal()
    assert scale.min() > 1 - 1.2e-4  # eps inside the square root
    torch.testing.assert_close(
        moments / scale.sqrt().outer(scale.sqrt()),
        torch.eye(6, dtype=torch.float64),
        atol=1e-4,
        rtol=0,
    )

"""The affinity W: the paper's formulas loop by loop, then what must hold for any batch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sag_vicreg.pairing import neighbor_affinity

SETTINGS = settings(max_examples=60, deadline=None)


def paper_affinity(
    z: Tensor, z_prime: Tensor, k: int, percentile: float, scale_over: str
) -> np.ndarray:
    """Section 4.3 and the implementation appendix, one number at a time, in float64."""
    a, b = z.double().numpy(), z_prime.double().numpy()
    n = len(a)
    distance = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            norms = np.sqrt((a[i] ** 2).sum()) * np.sqrt((b[j] ** 2).sum())
            distance[i, j] = 1 - (0.0 if norms == 0 else (a[i] * b[j]).sum() / norms)
    w = np.zeros((n, n))
    for i in range(n):
        neighbours = np.argsort(distance[i], kind="stable")[:k]
        shifted = distance[i] - distance[i, neighbours[0]]
        over = shifted if scale_over == "batch" else shifted[neighbours]
        scale = max(np.percentile(over, percentile), 1e-7)
        for j in neighbours:
            w[i, j] = np.exp(-(shifted[j] ** 2) / scale**2)
    return w


def two_views(
    n: int, d: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=generator, dtype=dtype)
    return z, z + 0.7 * torch.randn(n, d, generator=generator, dtype=dtype)


@pytest.mark.parametrize("scale_over", ["batch", "neighbors"])
@pytest.mark.parametrize("percentile", [0.0, 20.0, 33.3, 100.0])
@pytest.mark.parametrize("k", [1, 5, 12])
def test_weights_are_the_papers(k: int, percentile: float, scale_over: str) -> None:
    z, z_prime = two_views(12, 6, seed=1)
    affinity = neighbor_affinity(z, z_prime, k=k, percentile=percentile, scale_over=scale_over)
    expected = paper_affinity(z, z_prime, k, percentile, scale_over)
    np.testing.assert_allclose(affinity.dense().numpy(), expected, rtol=1e-7, atol=1e-9)


def test_float32_agrees_with_float64() -> None:
    z, z_prime = two_views(64, 128, seed=2)
    exact = neighbor_affinity(z, z_prime).dense()
    rounded = neighbor_affinity(z.float(), z_prime.float())
    assert rounded.weights.dtype == torch.float32
    torch.testing.assert_close(rounded.dense().double(), exact, rtol=1e-4, atol=1e-5)


def test_scale_over_changes_the_weights() -> None:
    z, z_prime = two_views(40, 8, seed=3)
    batch = neighbor_affinity(z, z_prime, scale_over="batch").weights
    neighbors = neighbor_affinity(z, z_prime, scale_over="neighbors").weights
    # The batch's 20th percentile lies far beyond the nearest five: a wider kernel.
    assert (batch[:, 1:] > neighbors[:, 1:]).all()


@SETTINGS
@given(
    n=st.integers(2, 24),
    d=st.integers(1, 40),
    k=st.integers(1, 24),
    seed=st.integers(0, 10_000),
    percentile=st.floats(0, 100),
    scale_over=st.sampled_from(["batch", "neighbors"]),
)
def test_what_holds_for_any_batch(
    n: int, d: int, k: int, seed: int, percentile: float, scale_over: str
) -> None:
    k = min(k, n)
    z, z_prime = two_views(n, d, seed)
    affinity = neighbor_affinity(z, z_prime, k=k, percentile=percentile, scale_over=scale_over)
    w = affinity.dense()
    assert affinity.indices.shape == affinity.weights.shape == (n, k)
    assert (affinity.weights[:, 0] == 1).all(), "the nearest has weight 1"
    assert (affinity.weights.diff(dim=1) <= 0).all(), "weights fall with distance"
    assert ((w >= 0) & (w <= 1)).all()
    assert ((w > 0).sum(dim=1) <= k).all(), "non-neighbours weigh 0"
    assert all(len(set(row)) == k for row in affinity.indices.tolist()), "a neighbour counts once"
    torch.testing.assert_close(affinity.transition.sum(dim=1), torch.ones(n, dtype=z.dtype))


@SETTINGS
@given(
    n=st.integers(2, 16),
    copies=st.integers(1, 15),
    k=st.integers(1, 16),
    seed=st.integers(0, 10_000),
    scale_over=st.sampled_from(["batch", "neighbors"]),
)
def test_duplicated_rows_weigh_as_the_papers(
    n: int, copies: int, k: int, seed: int, scale_over: str
) -> None:
    """Which of two equal rows is the neighbour is arbitrary; their weights are not."""
    k = min(k, n)
    z, z_prime = two_views(n, 5, seed)
    source = torch.randint(n, (n,), generator=torch.Generator().manual_seed(seed))
    source[copies:] = torch.arange(n)[copies:]
    z, z_prime = z[source], z_prime[source]
    weights = neighbor_affinity(z, z_prime, k=k, scale_over=scale_over).weights
    expected = np.sort(paper_affinity(z, z_prime, k, 20.0, scale_over))[:, ::-1][:, :k]
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-6, atol=1e-6)


def test_permuting_the_batch_permutes_the_affinity() -> None:
    z, z_prime = two_views(30, 10, seed=4)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    w = neighbor_affinity(z, z_prime).dense()
    permuted = neighbor_affinity(z[order], z_prime[order]).dense()
    torch.testing.assert_close(permuted, w[order][:, order])


@pytest.mark.parametrize("factor", [1e-30, 1e-12, 1e12, 1e30])
def test_rows_of_any_magnitude_have_their_direction(factor: float) -> None:
    """Squares of 1e30 and 1e-30 leave float32; cosines do not."""
    z, z_prime = two_views(20, 8, seed=5, dtype=torch.float32)
    stretched = z.clone()
    stretched[::3] *= factor
    expected = neighbor_affinity(z, z_prime)
    affinity = neighbor_affinity(stretched, z_prime * factor)
    assert torch.equal(affinity.indices, expected.indices)
    torch.testing.assert_close(affinity.weights, expected.weights, rtol=1e-3, atol=1e-4)


def test_a_zero_row_is_at_cosine_zero() -> None:
    z, z_prime = two_views(10, 4, seed=6)
    z[3] = 0
    z_prime[7] = 0
    expected = paper_affinity(z, z_prime, 5, 20.0, "batch")
    w = neighbor_affinity(z, z_prime).dense().numpy()
    ordinary = [i for i in range(10) if i != 3]
    np.testing.assert_allclose(w[ordinary], expected[ordinary], rtol=1e-7, atol=1e-9)
    # To a zero row every other is equally near.
    assert sorted(w[3]) == [0] * 5 + [1] * 5


def test_a_batch_of_zeros_is_finite() -> None:
    affinity = neighbor_affinity(torch.zeros(6, 3), torch.zeros(6, 3))
    assert (affinity.weights == 1).all()


def test_half_precision_is_computed_in_float32_even_under_autocast() -> None:
    z, z_prime = (view.bfloat16() for view in two_views(32, 64, seed=7))
    expected = neighbor_affinity(z.float(), z_prime.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        affinity = neighbor_affinity(z, z_prime)
        from_float = neighbor_affinity(z.float(), z_prime.float())
    assert affinity.weights.dtype == torch.float32
    assert torch.equal(affinity.weights, expected.weights)
    assert torch.equal(from_float.weights, expected.weights)


def test_no_gradient_flows_through_the_affinity() -> None:
    z, z_prime = two_views(8, 4, seed=8)
    affinity = neighbor_affinity(z.requires_grad_(), z_prime.requires_grad_())
    assert not affinity.weights.requires_grad

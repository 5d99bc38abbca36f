"""VICReg and SAG-VICReg against the papers' formulas, lightly's loss, and each other."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sag_vicreg import torchvision_ops  # noqa: F401  lightly imports torchvision
from sag_vicreg.losses import SAGVICRegLoss, VICRegLoss
from sag_vicreg.losses.vicreg import variance_and_covariance
from sag_vicreg.pairing import Pairs

SHAPES = [(12, 40), (40, 12), (16, 16), (2, 9), (9, 1)]
TOLERANCE = {
    torch.float32: {"rtol": 2e-5, "atol": 1e-6},
    torch.float64: {"rtol": 1e-10, "atol": 1e-12},
}


def two_views(
    n: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = 0.8 * torch.randn(n, d, generator=generator, dtype=torch.float64) + 0.3
    z_prime = z + 0.5 * torch.randn(n, d, generator=generator, dtype=torch.float64)
    return z.to(dtype).requires_grad_(), z_prime.to(dtype).requires_grad_()


def some_pairs(n: int, seed: int = 0) -> Pairs:
    generator = torch.Generator().manual_seed(seed)
    return Pairs(
        torch.randint(n, (n,), generator=generator),
        torch.rand(n, generator=generator, dtype=torch.float64),
    )


def gradients(total: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(total, leaves)


def paper_terms(z: Tensor, z_prime: Tensor, pairs: Pairs) -> tuple[float, float, float]:
    """Equation 3 and section 3.2 loop by loop; invariance by d as the official code has it."""
    a, b = z.detach().numpy(), z_prime.detach().numpy()
    n, d = a.shape
    partners = np.stack([b[j] for j in pairs.indices.tolist()])
    s = 0.0
    for i in range(n):
        s += (
            float(pairs.weights[i]) * sum((a[i, c] - partners[i, c]) ** 2 for c in range(d)) / d / n
        )
    v = c_sum = 0.0
    for side in (a, partners):
        mean = side.sum(axis=0) / n
        cov = np.zeros((d, d))
        for row in side:
            cov += np.outer(row - mean, row - mean) / (n - 1)
        v += sum(max(0.0, 1 - np.sqrt(cov[c, c] + 1e-4)) for c in range(d)) / d / 2
        c_sum += sum(cov[p, q] ** 2 for p in range(d) for q in range(d) if p != q) / d
    return s, v, c_sum


@pytest.mark.parametrize("shape", SHAPES)
def test_terms_are_the_papers(shape: tuple[int, int]) -> None:
    z, z_prime = two_views(*shape)
    pairs = some_pairs(shape[0])
    terms = SAGVICRegLoss(k=1)(z, z_prime, pairs=pairs)
    s, v, c = paper_terms(z, z_prime, pairs)
    assert terms.invariance.item() == pytest.approx(s, rel=1e-10)
    assert terms.variance.item() == pytest.approx(v, rel=1e-10)
    assert terms.covariance.item() == pytest.approx(c, rel=1e-10, abs=1e-12)
    assert terms.total.item() == pytest.approx(25 * s + 25 * v + c, rel=1e-10)
    other = (pairs.indices != torch.arange(shape[0])).double().mean()
    assert terms.nontrivial.item() == other.item()


def test_the_weights_of_the_terms_are_used() -> None:
    z, z_prime = two_views(10, 6)
    terms = VICRegLoss(invariance=2.0, variance=3.0, covariance=5.0)(z, z_prime)
    expected = 2 * terms.invariance + 3 * terms.variance + 5 * terms.covariance
    assert terms.total.item() == pytest.approx(expected.item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(64, 256), (256, 64), (64, 64)])
def test_vicreg_is_lightlys(shape: tuple[int, int], dtype: torch.dtype) -> None:
    from lightly.loss import VICRegLoss as LightlyVICRegLoss

    z, z_prime = two_views(*shape, dtype=dtype)
    ours = VICRegLoss()(z, z_prime).total
    theirs = LightlyVICRegLoss()(z, z_prime)
    torch.testing.assert_close(ours, theirs, **TOLERANCE[dtype])
    for mine, other in zip(gradients(ours, z, z_prime), gradients(theirs, z, z_prime), strict=True):
        torch.testing.assert_close(mine, other, **TOLERANCE[dtype])


def official_covariance(z: Tensor) -> Tensor:
    """The official script's form: centre, d x d covariance, off-diagonal by reshaping."""
    n, d = z.shape
    z = z - z.mean(dim=0)
    cov = (z.T @ z) / (n - 1)
    off = cov.flatten()[:-1].view(d - 1, d + 1)[:, 1:].flatten()
    return off.pow(2).sum() / d


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 40), d=st.integers(2, 40), seed=st.integers(0, 1000))
def test_both_sides_of_the_covariance_are_the_official_one(
    dtype: torch.dtype, n: int, d: int, seed: int
) -> None:
    z, _ = two_views(n, d, seed, dtype)
    expected = official_covariance(z)
    (expected_gradient,) = gradients(expected, z)
    for side in ("gram", "features", None):
        _, value = variance_and_covariance(z, side=side)
        # The Gram side subtracts the variances: its error is relative to them.
        torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-5)
        if dtype == torch.float64:
            torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-11)
        (gradient,) = gradients(value, z)
        torch.testing.assert_close(gradient, expected_gradient, **TOLERANCE[dtype])


@pytest.mark.parametrize(("n", "saved"), [(6, (6, 6)), (7, (7, 7)), (8, (7, 7))])
def test_the_smaller_matrix_is_built(n: int, saved: tuple[int, int]) -> None:
    kept: list[torch.Size] = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: (kept.append(tensor.shape), tensor)[1], lambda tensor: tensor
    ):
        variance_and_covariance(torch.randn(n, 7, requires_grad=True))
    assert sorted(kept) == sorted([(n, 7), (n, 7), (7,), saved])


@pytest.mark.parametrize("side", ["gram", "features"])
@pytest.mark.parametrize("shape", [(5, 8), (8, 5)])
def test_first_and_second_derivatives_of_each_side(shape: tuple[int, int], side: str) -> None:
    z, _ = two_views(*shape)
    assert torch.autograd.gradcheck(lambda a: variance_and_covariance(a, side=side), z)
    assert torch.autograd.gradgradcheck(lambda a: variance_and_covariance(a, side=side), z)


@pytest.mark.parametrize("shape", [(5, 8), (8, 5)])
def test_gradcheck_with_fixed_pairs(shape: tuple[int, int]) -> None:
    """Fixed, because W is not differentiated: a redrawn pair would be a step, not a slope."""
    z, z_prime = two_views(*shape)
    pairs = some_pairs(shape[0])
    loss = SAGVICRegLoss()
    assert torch.autograd.gradcheck(
        lambda a, b: loss(a, b, pairs=pairs).total, (z, z_prime), atol=1e-6
    )
    assert torch.autograd.gradcheck(lambda a, b: VICRegLoss()(a, b).total, (z, z_prime), atol=1e-6)


def test_the_gradient_ignores_how_pairs_came_to_be() -> None:
    z, z_prime = two_views(20, 6)
    loss = SAGVICRegLoss()
    drawn = loss(z, z_prime, generator=torch.Generator().manual_seed(0)).total
    walked = loss.pairing(z, z_prime, generator=torch.Generator().manual_seed(0))
    given_pairs = loss(z, z_prime, pairs=Pairs(walked.indices, walked.weights)).total
    assert drawn.item() == given_pairs.item()
    for a, b in zip(gradients(drawn, z, z_prime), gradients(given_pairs, z, z_prime), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("shape", [(32, 64), (64, 32)])
def test_with_one_neighbour_and_own_views_nearest_it_is_vicreg(shape: tuple[int, int]) -> None:
    z, _ = two_views(*shape)
    z_prime = (z + 1e-3 * torch.randn(shape, dtype=z.dtype)).detach().requires_grad_()
    walked, plain = SAGVICRegLoss(k=1)(z, z_prime), VICRegLoss()(z, z_prime)
    assert walked.nontrivial == 0
    assert walked.total.item() == plain.total.item()
    for a, b in zip(
        gradients(walked.total, z, z_prime), gradients(plain.total, z, z_prime), strict=True
    ):
        assert torch.equal(a, b)


def test_every_term_is_in_the_parts() -> None:
    terms = SAGVICRegLoss()(*two_views(12, 6))
    assert list(terms.parts) == ["invariance", "variance", "covariance", "nontrivial"]
    assert list(VICRegLoss()(*two_views(12, 6)).parts) == list(terms.parts)


@pytest.mark.parametrize("loss", [VICRegLoss(), SAGVICRegLoss()])
def test_float32_inside_bfloat16_autocast(loss: VICRegLoss) -> None:
    z, z_prime = (view.detach().bfloat16() for view in two_views(32, 64))
    torch.manual_seed(0)
    expected = loss(z.float(), z_prime.float())
    leaves = z.clone().requires_grad_(), z_prime.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.manual_seed(0)
        terms = loss(*leaves)
        torch.manual_seed(0)
        of_floats = loss(z.float(), z_prime.float())
    for part in (terms, of_floats):
        assert part.total.dtype == torch.float32
        assert part.total.item() == expected.total.item()
    terms.total.backward()
    assert all(leaf.grad is not None and leaf.grad.dtype == torch.bfloat16 for leaf in leaves)


def test_float64_stays_float64() -> None:
    assert SAGVICRegLoss()(*two_views(8, 4)).total.dtype == torch.float64


@pytest.mark.parametrize("loss", [VICRegLoss(), SAGVICRegLoss()])
@pytest.mark.parametrize("zeros", ["one row", "one column", "everything"])
def test_zeros_never_make_nan(loss: VICRegLoss, zeros: str) -> None:
    where = {
        "one row": (slice(3, 4),),
        "one column": (slice(None), 2),
        "everything": (slice(None),),
    }
    z, z_prime = (view.detach() for view in two_views(8, 12, dtype=torch.float32))
    for view in (z, z_prime):
        view[where[zeros]] = 0
        view.requires_grad_()
    terms = loss(z, z_prime)
    assert terms.total.isfinite()
    assert all(g.isfinite().all() for g in gradients(terms.total, z, z_prime))

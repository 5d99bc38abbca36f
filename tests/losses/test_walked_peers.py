"""The walk in front of other losses: Barlow Twins and NT-Xent, ours and lightly's."""

import pytest
import torch
from torch import Tensor

from sag_vicreg import torchvision_ops  # noqa: F401  lightly imports torchvision
from sag_vicreg.losses import BarlowTwinsLoss, NTXentLoss, TwoViewLoss, nt_xent
from sag_vicreg.pairing import Pairs, RandomWalkPairing

TOLERANCE = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-6},
    torch.float64: {"rtol": 1e-9, "atol": 1e-12},
}
LOSSES = [NTXentLoss, BarlowTwinsLoss]


def two_views(
    n: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=generator, dtype=torch.float64) + 0.2
    z_prime = z + 0.5 * torch.randn(n, d, generator=generator, dtype=torch.float64)
    return z.to(dtype).requires_grad_(), z_prime.to(dtype).requires_grad_()


def assert_same(ours: Tensor, theirs: Tensor, leaves: tuple[Tensor, Tensor]) -> None:
    """Equal values and equal gradients."""
    tolerance = TOLERANCE[ours.dtype]
    torch.testing.assert_close(ours, theirs, **tolerance)
    for a, b in zip(
        torch.autograd.grad(ours, leaves), torch.autograd.grad(theirs, leaves), strict=True
    ):
        torch.testing.assert_close(a, b, **tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(32, 96), (96, 32), (48, 48)])
def test_plain_losses_are_lightlys(shape: tuple[int, int], dtype: torch.dtype) -> None:
    import lightly.loss

    views = two_views(*shape, dtype=dtype)
    barlow = lightly.loss.BarlowTwinsLoss(lambda_param=0.02)
    assert_same(BarlowTwinsLoss(redundancy=0.02)(*views).total, barlow(*views), views)
    contrast = lightly.loss.NTXentLoss(temperature=0.3)
    assert_same(NTXentLoss(temperature=0.3)(*views).total, contrast(*views), views)


@pytest.mark.parametrize("shape", [(32, 96), (96, 32)])
def test_lightlys_barlow_twins_behind_the_walk_is_ours_with_it(shape: tuple[int, int]) -> None:
    import lightly.loss

    views = two_views(*shape)
    pairing = RandomWalkPairing(k=5)
    walked = pairing(*views, generator=torch.Generator().manual_seed(0))
    theirs = lightly.loss.BarlowTwinsLoss()(walked.z, walked.z_partner)
    ours = BarlowTwinsLoss(pairing=pairing)(*views, generator=torch.Generator().manual_seed(0))
    assert 0 < ours.parts["nontrivial"] == walked.nontrivial
    assert_same(ours.total, theirs, views)


def loop_nt_xent(z: Tensor, z_prime: Tensor, partners: list[int], temperature: float) -> Tensor:
    """One anchor, one negative at a time; rows that share the anchor's partner are no negatives."""
    n = len(z)
    rows = [*z, *(z_prime[j] for j in partners)]
    owner = [*range(n), *range(n)]

    def similarity(a: Tensor, b: Tensor) -> Tensor:
        return torch.dot(a, b) / a.norm() / b.norm() / temperature

    losses = []
    for anchor, row in enumerate(rows):
        positive = (anchor + n) % (2 * n)
        terms = [similarity(row, rows[positive])]
        for other in range(2 * n):
            if partners[owner[other]] != partners[owner[anchor]]:
                terms.append(similarity(row, rows[other]))
        losses.append(torch.stack(terms).logsumexp(dim=0) - terms[0])
    return torch.stack(losses).mean()


@pytest.mark.parametrize("partners", [[0, 1, 2, 3, 4], [2, 2, 0, 2, 1], [3, 3, 3, 3, 3]])
def test_nt_xent_leaves_out_rows_that_share_a_partner(partners: list[int]) -> None:
    views = two_views(5, 4)
    pairs = Pairs(torch.tensor(partners), torch.ones(5, dtype=torch.float64))
    loss = NTXentLoss(temperature=0.3, pairing=RandomWalkPairing())
    ours = loss(*views, pairs=pairs).total
    assert_same(ours, loop_nt_xent(*views, partners, temperature=0.3), views)


def test_a_repeated_partner_is_never_its_own_negative() -> None:
    """Unmasked, perfect pairs of one partner can do no better than tell the copies by chance."""
    z = torch.eye(4)[[0, 0, 2, 3]]
    indices = torch.tensor([0, 0, 2, 3])
    masked = nt_xent(z, z, temperature=0.01, indices=indices)
    assert masked < 1e-6
    assert nt_xent(z, z, temperature=0.01) > 0.5


@pytest.mark.parametrize("make", LOSSES)
def test_gradcheck_with_fixed_pairs(make: type[TwoViewLoss]) -> None:
    pairs = Pairs(torch.tensor([2, 2, 0, 2, 1, 5]), torch.ones(6, dtype=torch.float64))
    for d in (4, 9):
        loss = make(pairing=RandomWalkPairing())
        assert torch.autograd.gradcheck(
            lambda a, b, loss=loss: loss(a, b, pairs=pairs).total, two_views(6, d)
        )


@pytest.mark.parametrize("make", LOSSES)
def test_the_walks_weights_are_not_used(make: type[TwoViewLoss]) -> None:
    views, indices = two_views(8, 4), torch.randint(8, (8,))
    loss = make(pairing=RandomWalkPairing())
    light, heavy = (
        loss(*views, pairs=Pairs(indices, torch.full((8,), weight))).total for weight in (0.1, 1.0)
    )
    assert light == heavy


@pytest.mark.parametrize("make", LOSSES)
@pytest.mark.parametrize("d", [4, 12])
def test_zeros_never_make_nan(make: type[TwoViewLoss], d: int) -> None:
    views = two_views(8, d, dtype=torch.float32)
    for view in views:
        view.data[3] = 0
        view.data[:, 2] = 0
    total = make(pairing=RandomWalkPairing(k=3))(*views).total
    assert total.isfinite()
    for gradient in torch.autograd.grad(total, views):
        assert gradient.isfinite().all()
        assert gradient.abs().max() < 1e3


@pytest.mark.parametrize("make", LOSSES)
def test_float32_inside_bfloat16_autocast(make: type[TwoViewLoss]) -> None:
    z, z_prime = (view.detach().bfloat16() for view in two_views(32, 64))
    loss = make(pairing=RandomWalkPairing())
    uniforms = torch.rand(32)
    expected = loss(z.float(), z_prime.float(), uniforms=uniforms).total
    with torch.autocast("cpu", dtype=torch.bfloat16):
        total = loss(z, z_prime, uniforms=uniforms).total
    assert total.dtype == torch.float32
    assert total.item() == expected.item()

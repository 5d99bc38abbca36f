"""Every reading of the walk against a plain loop, then what holds whatever the batch."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sag_vicreg.errors import InputError
from sag_vicreg.losses import SAGVICRegLoss
from sag_vicreg.pairing import Pairs, RandomWalkPairing, neighbor_affinity

READINGS: list[dict[str, Any]] = [
    *(
        {"around": a, "scale_over": s}
        for a, s in product(("view", "own_view"), ("batch", "neighbors"))
    ),
    {},
    {"stay_home": True, "around": "view"},
    {"crossed": True, "around": "view"},
    {"crossed": True, "around": "view", "scale_over": "batch", "walk_share": 0.5},
    {"crossed": True, "around": "own_view"},
    {"memory": 30, "around": "own_view", "scale_over": "neighbors"},
    {"memory": 7, "around": "view", "scale_over": "batch"},
    {"walk_share": 0.3, "around": "own_view"},
    {"walk_share": 0.0},
    {"partners": "random", "partner_weight": 0.4, "walk_share": 0.6},
]


def two_views(n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return z, z + 0.7 * torch.randn(n, d, generator=generator, dtype=torch.float64)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(1 - a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))


def by_loop(
    z: np.ndarray,
    z_prime: np.ndarray,
    remembered: np.ndarray,
    uniforms: np.ndarray,
    searched: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    k: int = 5,
    percentile: float = 20.0,
    scale_over: str = "neighbors",
    around: str = "own_view",
    stay_home: bool = False,
    crossed: bool = False,
    memory: int = 0,
    walk_share: float = 1.0,
    partners: str = "walk",
    partner_weight: float = 1.0,
) -> tuple[list[int], list[float], np.ndarray, np.ndarray, np.ndarray]:
    """`docs/method.md` read aloud, one row at a time."""
    n = len(z)
    pool = np.concatenate((z_prime, remembered)) if memory and len(remembered) else z_prime
    from_, to = (z, pool) if searched is None else searched
    indices, weights = [], []
    for i in range(n):
        here = from_[i] if around == "view" else to[i]
        d = np.array([distance(here, other) for other in to])
        if around == "own_view":
            d[i] = d.min()
        order = np.argsort(d, kind="stable")[:k]
        d -= d[order[0]]
        scale = max(np.percentile(d if scale_over == "batch" else d[order], percentile), 1e-7)
        w = np.exp(-((d[order] / scale) ** 2))
        step = int(np.searchsorted(np.cumsum(w / w.sum()), uniforms[0, i], side="right"))
        j, weight = int(order[step]), float(w[step])
        if partners == "random":
            j, weight = (
                [row for row in range(n) if row != i][int(uniforms[0, i] * (n - 1))],
                partner_weight,
            )
        if (stay_home and order[0] != i) or uniforms[1, i] >= walk_share:
            j, weight = i, 1.0
        indices.append(j)
        weights.append(weight)
    pulled = (z_prime, z[indices]) if crossed else (z, pool[indices])
    return indices, weights, *pulled, z_prime if memory else pulled[1]


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_three_batches_are_paired_as_the_loop_pairs_them(reading: dict[str, Any]) -> None:
    pairing = RandomWalkPairing(**reading)
    generator = torch.Generator().manual_seed(1)
    remembered = np.zeros((0, 6))
    left = 0.0
    for seed in range(3):
        z, z_prime = two_views(20, 6, seed)
        uniforms = torch.rand(2, 20, generator=generator, dtype=torch.float64)
        once = reading.get("walk_share", 1.0) == 1.0
        walked = pairing(z, z_prime, uniforms=uniforms[0] if once else uniforms)
        indices, weights, a, b, spread = by_loop(
            z.numpy(), z_prime.numpy(), remembered, uniforms.numpy(), **reading
        )
        assert walked.indices.tolist() == indices
        np.testing.assert_allclose(walked.weights.numpy(), weights, rtol=1e-7)
        assert np.array_equal(walked.z.numpy(), a)
        assert np.array_equal(walked.z_partner.numpy(), b)
        assert np.array_equal(walked.z_spread.numpy(), spread)
        remembered = np.concatenate((z_prime.numpy(), remembered))[: reading.get("memory", 0)]
        left += float(walked.nontrivial)
    assert (left > 0) == (reading.get("walk_share") != 0.0)


def test_neighbours_are_searched_in_features_where_there_are_any() -> None:
    (z, z_prime), (h, h_prime) = two_views(20, 6, 0), two_views(20, 9, 1)
    uniforms = torch.rand(2, 20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    walked = RandomWalkPairing()(z, z_prime, features=(h, h_prime), uniforms=uniforms[0])
    searched = (h.numpy(), h_prime.numpy())
    indices, weights, _, b, _ = by_loop(
        z.numpy(), z_prime.numpy(), np.zeros((0, 6)), uniforms.numpy(), searched
    )
    assert walked.indices.tolist() == indices
    np.testing.assert_allclose(walked.weights.numpy(), weights, rtol=1e-7)
    assert np.array_equal(walked.z_partner.numpy(), b)
    assert indices != RandomWalkPairing()(z, z_prime, uniforms=uniforms[0]).indices.tolist()


@settings(max_examples=50, deadline=None)
@given(
    n=st.integers(2, 16), k=st.integers(1, 16), copies=st.integers(1, 16), seed=st.integers(0, 99)
)
def test_the_own_view_is_always_first_around_itself(n: int, k: int, copies: int, seed: int) -> None:
    """Also where other rows are copies of it, or of nothing at all."""
    z, z_prime = two_views(n, 3, seed)
    z_prime[:copies] = z_prime[0] if seed % 2 else 0
    affinity = neighbor_affinity(z, z_prime, k=min(k, n), around="own_view")
    assert affinity.indices[:, 0].tolist() == list(range(n))
    assert (affinity.weights[:, 0] == 1).all()
    assert affinity.weights.isfinite().all()
    assert all(len(set(row)) == min(k, n) for row in affinity.indices.tolist())


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000), d=st.integers(8, 64))
def test_around_the_own_view_the_nearest_other_weighs_a_fifth(seed: int, d: int) -> None:
    """The 20th percentile of (0, a, b, c, d) is 0.8 a: `docs/method.md` says what follows."""
    options = {"k": 5, "percentile": 20.0, "scale_over": "neighbors", "around": "own_view"}
    affinity = neighbor_affinity(*two_views(40, d, seed), **options)  # type: ignore[arg-type]
    second = np.exp(-1 / 0.8**2)
    assert round(second, 2) == 0.21
    np.testing.assert_allclose(affinity.weights[:, 1].numpy(), second, rtol=1e-4)
    assert (affinity.transition[:, 0] >= 1 / (1 + 4 * second) - 1e-9).all(), "over half stays"
    assert round(1 / (1 + 4 * second), 2) == 0.54
    others = (affinity.transition * affinity.weights)[:, 1:].sum(dim=1)
    most = 4 * second**2 / (1 + 4 * second)
    assert (others <= most + 1e-9).all()
    assert round(most, 3) == 0.096


def test_random_partners_are_the_others_each_as_often() -> None:
    pairing = RandomWalkPairing(partners="random", partner_weight=0.25)
    z, z_prime = two_views(5, 3, 0)
    generator = torch.Generator().manual_seed(0)
    counts = np.zeros((5, 5))
    for _ in range(2000):
        walked = pairing(z, z_prime, generator=generator)
        assert (walked.weights == 0.25).all()
        counts[range(5), walked.indices.numpy()] += 1
    assert (counts.diagonal() == 0).all()
    others = counts[~np.eye(5, dtype=bool)]
    assert others.min() > 400
    assert others.max() < 600


def test_crossed_pulls_the_views_that_were_not_compared() -> None:
    z, z_prime = (view.requires_grad_() for view in two_views(12, 4, 2))
    loss = SAGVICRegLoss(crossed=True, variance=0.0, covariance=0.0)
    terms = loss(z, z_prime, generator=torch.Generator().manual_seed(0))
    walked = loss.pairing(z, z_prime, generator=torch.Generator().manual_seed(0))  # type: ignore[misc]
    a, b = z_prime.detach().requires_grad_(), z.detach().requires_grad_()
    per_row = (a - b[walked.indices]).square().mean(dim=1)
    expected = 25 * (walked.weights * per_row).mean()
    assert terms.total.item() == pytest.approx(expected.item())
    found = torch.autograd.grad(terms.total, (z_prime, z))
    for mine, other in zip(found, torch.autograd.grad(expected, (a, b)), strict=True):
        torch.testing.assert_close(mine, other)
        assert mine.abs().sum() > 0


def test_no_gradient_flows_into_the_memory_and_none_is_kept() -> None:
    loss = SAGVICRegLoss(memory=50, around="own_view")
    z, z_prime = (view.requires_grad_() for view in two_views(12, 4, 0))
    loss(z, z_prime)
    assert loss.pairing is not None
    memory = loss.pairing.memory
    assert memory is not None
    assert not memory.rows.requires_grad
    later, later_prime = (view.requires_grad_() for view in two_views(12, 4, 1))
    all_remembered = Pairs(torch.arange(12, 24), torch.ones(12))
    terms = loss(later, later_prime, pairs=all_remembered)
    (pull,) = torch.autograd.grad(terms.invariance, later_prime, retain_graph=True)
    assert not pull.any(), "the partners are remembered rows"
    (spread,) = torch.autograd.grad(terms.total, later_prime)
    assert spread.abs().sum() > 0, "variance and covariance hold z' apart"
    assert z_prime.grad is None


def test_a_memory_comes_back_as_it_was_and_only_training_fills_it() -> None:
    pairing = RandomWalkPairing(memory=30)
    for seed in range(2):
        pairing(*two_views(20, 6, seed))
    other = RandomWalkPairing(memory=30)
    other.load_state_dict(pairing.state_dict())
    assert other.memory is not None
    assert pairing.memory is not None
    assert torch.equal(other.memory.rows, pairing.memory.rows)
    assert len(other.memory.rows) == 30
    third = two_views(20, 6, 2)
    draws = [
        each(*third, generator=torch.Generator().manual_seed(0)) for each in (pairing, other.eval())
    ]
    assert torch.equal(draws[0].indices, draws[1].indices)
    assert (draws[0].indices >= 20).any()
    assert not torch.equal(other.memory.rows, pairing.memory.rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stay_home": True, "around": "own_view"}, "it always is"),
        ({"crossed": True, "memory": 10}, "memory keeps embeddings of one view"),
        ({"partners": "random", "crossed": True}, "no neighbours"),
        ({"partners": "random", "memory": 10}, "no neighbours"),
        ({"partner_weight": 0.5}, "belongs to partners random"),
        ({"walk_share": 1.5}, "walk_share is 1.5: it is a share"),
        ({"walk_after": -0.1}, "walk_after is -0.1"),
        ({"walk_after": 0.7, "walk_ramp": 0.7}, "must not exceed 1"),
        ({"memory": -1}, "memory is -1"),
        ({"around": "other"}, "own_view"),
        ({"partners": "nobody"}, "random"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RandomWalkPairing(**options)


def test_the_walk_starts_and_grows_with_training() -> None:
    literal: dict[str, Any] = {"around": "view", "scale_over": "batch"}
    ramp = RandomWalkPairing(walk_after=0.2, walk_ramp=0.4, walk_share=0.5, memory=20, **literal)
    expected = {0.0: None, 0.19: None, 0.2: 0.0, 0.3: 0.125, 0.4: 0.25, 0.6: 0.5, 0.9: 0.5}
    for progress, share in expected.items():
        found = ramp.share_at(progress)
        assert found == share if share is None else found == pytest.approx(share)
    assert RandomWalkPairing(walk_share=0.5).share_at(0.0) == 0.5
    assert RandomWalkPairing(walk_share=0.5).share_at(None) == 0.5
    z, z_prime = two_views(20, 6, 0)
    before = ramp(z, z_prime, progress=0.1)
    assert ramp.memory is not None
    assert len(ramp.memory.rows) == 0, "what nobody walks to is not remembered"
    assert before.indices.tolist() == list(range(20))
    assert before.z_partner is z_prime
    uniforms = torch.rand(2, 20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    after = ramp(z, z_prime, progress=0.6, uniforms=uniforms)
    half = RandomWalkPairing(walk_share=0.5, **literal)(z, z_prime, uniforms=uniforms)
    assert torch.equal(after.indices, half.indices)
    assert after.nontrivial > 0
    with pytest.raises(InputError, match="pass progress"):
        ramp(z, z_prime)


def test_a_memory_has_one_width_and_no_features() -> None:
    pairing = RandomWalkPairing(memory=10)
    pairing(*two_views(8, 4, 0))
    with pytest.raises(InputError, match="8 columns but the memory 4"):
        pairing(*two_views(8, 8, 0))
    with pytest.raises(InputError, match="not features"):
        pairing(*two_views(8, 4, 0), features=two_views(8, 6, 0))

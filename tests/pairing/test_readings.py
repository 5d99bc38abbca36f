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
from sag_vicreg.pairing import RandomWalkPairing, neighbor_affinity

READINGS: list[dict[str, Any]] = [
    *(
        {"around": a, "scale_over": s}
        for a, s in product(("view", "own_view"), ("batch", "neighbors"))
    ),
    {},
    {"k": 3, "percentile": 60.0},
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
    uniforms: np.ndarray,
    *,
    k: int = 5,
    percentile: float = 20.0,
    scale_over: str = "neighbors",
    around: str = "own_view",
) -> tuple[list[int], list[float]]:
    """`docs/method.md` read aloud, one row at a time."""
    indices, weights = [], []
    for i in range(len(z)):
        here = z[i] if around == "view" else z_prime[i]
        d = np.array([distance(here, other) for other in z_prime])
        if around == "own_view":
            d[i] = d.min()
        order = np.argsort(d, kind="stable")[:k]
        d -= d[order[0]]
        scale = max(np.percentile(d if scale_over == "batch" else d[order], percentile), 1e-7)
        w = np.exp(-((d[order] / scale) ** 2))
        step = int(np.searchsorted(np.cumsum(w / w.sum()), uniforms[i], side="right"))
        indices.append(int(order[step]))
        weights.append(float(w[step]))
    return indices, weights


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_three_batches_are_paired_as_the_loop_pairs_them(reading: dict[str, Any]) -> None:
    pairing = RandomWalkPairing(**reading)
    generator = torch.Generator().manual_seed(1)
    left = 0.0
    for seed in range(3):
        z, z_prime = two_views(20, 6, seed)
        uniforms = torch.rand(20, generator=generator, dtype=torch.float64)
        walked = pairing(z, z_prime, uniforms=uniforms)
        indices, weights = by_loop(z.numpy(), z_prime.numpy(), uniforms.numpy(), **reading)
        assert walked.indices.tolist() == indices
        np.testing.assert_allclose(walked.weights.numpy(), weights, rtol=1e-7)
        assert np.array_equal(walked.z.numpy(), z.numpy())
        assert np.array_equal(walked.z_partner.numpy(), z_prime.numpy()[indices])
        left += float(walked.nontrivial)
    assert left > 0


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"walk_after": -0.1}, "walk_after is -0.1: it is a share"),
        ({"around": "other"}, "own_view"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RandomWalkPairing(**options)


def test_the_walk_starts_with_training() -> None:
    literal: dict[str, Any] = {"around": "view", "scale_over": "batch"}
    late = RandomWalkPairing(walk_after=0.2, **literal)
    assert [late.walks_at(progress) for progress in (0.0, 0.19, 0.2, 0.9)] == [False] * 2 + [
        True
    ] * 2
    assert RandomWalkPairing().walks_at(0.0)
    assert RandomWalkPairing().walks_at(None)
    z, z_prime = two_views(20, 6, 0)
    before = late(z, z_prime, progress=0.1)
    assert before.indices.tolist() == list(range(20))
    assert before.z_partner is z_prime
    uniforms = torch.rand(20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    after = late(z, z_prime, progress=0.6, uniforms=uniforms)
    assert torch.equal(
        after.indices, RandomWalkPairing(**literal)(z, z_prime, uniforms=uniforms).indices
    )
    assert after.nontrivial > 0
    with pytest.raises(InputError, match="pass progress"):
        late(z, z_prime)

"""The walk: frequencies, reproducibility, and the edges of the uniform interval."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sag_vicreg.pairing import (
    Affinity,
    Pairs,
    RandomWalkPairing,
    neighbor_affinity,
    random_walk,
)


def two_views(n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return z, z + 0.7 * torch.randn(n, d, generator=generator, dtype=torch.float64)


def test_frequencies_are_those_of_the_transition_matrix() -> None:
    n, draws = 20, 20_000
    affinity = neighbor_affinity(*two_views(n, 4, seed=0), k=5)
    assert affinity.transition.min() * draws > 5, "every cell is common enough for chi-square"
    many = Affinity(affinity.indices.repeat(draws, 1), affinity.weights.repeat(draws, 1), n)
    walked = random_walk(many, generator=torch.Generator().manual_seed(1)).indices
    walked = walked.reshape(draws, n)
    for i in range(n):
        observed = torch.bincount(walked[:, i], minlength=n)[affinity.indices[i]]
        assert observed.sum() == draws, "the walk stays among the neighbours"
        expected = affinity.transition[i] * draws
        # The seed is fixed; a wrong walk fails by hundreds of orders of magnitude.
        assert chisquare(observed.numpy(), expected.numpy()).pvalue > 1e-4


def test_the_weight_is_the_affinity_of_the_pair() -> None:
    affinity = neighbor_affinity(*two_views(25, 6, seed=1))
    pairs = random_walk(affinity, generator=torch.Generator().manual_seed(0))
    assert torch.equal(pairs.weights, affinity.dense()[torch.arange(25), pairs.indices])


def test_a_generator_makes_the_walk_reproducible() -> None:
    affinity = neighbor_affinity(*two_views(200, 6, seed=2))
    first, again, other = (
        random_walk(affinity, generator=torch.Generator().manual_seed(seed)).indices
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_without_a_generator_the_default_one_is_used() -> None:
    affinity = neighbor_affinity(*two_views(200, 6, seed=2))
    torch.manual_seed(3)
    first, second = random_walk(affinity).indices, random_walk(affinity).indices
    torch.manual_seed(3)
    assert torch.equal(first, random_walk(affinity).indices)
    assert not torch.equal(first, second)


def test_permuting_the_batch_and_the_uniforms_permutes_the_pairs() -> None:
    z, z_prime = two_views(30, 10, seed=4)
    generator = torch.Generator().manual_seed(0)
    uniforms = torch.rand(30, generator=generator, dtype=torch.float64)
    order = torch.randperm(30, generator=generator)
    pairs = random_walk(neighbor_affinity(z, z_prime), uniforms=uniforms)
    permuted = random_walk(neighbor_affinity(z[order], z_prime[order]), uniforms=uniforms[order])
    assert torch.equal(order[permuted.indices], pairs.indices[order])
    torch.testing.assert_close(permuted.weights, pairs.weights[order])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=100, deadline=None)
@given(
    weights=st.lists(
        st.one_of(st.just(0.0), st.floats(1e-30, 1.0, allow_subnormal=False)),
        min_size=1,
        max_size=8,
    ).map(lambda tail: sorted([1.0, *tail], reverse=True)),
    uniform=st.one_of(st.just(0.0), st.just(1 - 2**-53), st.floats(0, 1, exclude_max=True)),
)
def test_the_walk_ends_at_a_neighbour_of_positive_weight(
    dtype: torch.dtype, weights: list[float], uniform: float
) -> None:
    """Also for uniforms that round to 1 and weights that underflow to 0."""
    k = len(weights)
    affinity = Affinity(torch.arange(k)[None], torch.tensor([weights], dtype=dtype), k)
    pairs = random_walk(affinity, uniforms=torch.tensor([uniform], dtype=torch.float64))
    assert pairs.weights.item() > 0


def test_uniforms_choose_by_inverse_cdf() -> None:
    affinity = Affinity(torch.tensor([[7, 3, 5]]), torch.tensor([[1.0, 0.5, 0.5]]), 8)
    expected = {0.0: 7, 0.4999: 7, 0.5: 3, 0.7499: 3, 0.75: 5, 0.9999: 5}
    for uniform, partner in expected.items():
        pairs = random_walk(affinity, uniforms=torch.tensor([uniform]))
        assert pairs.indices.item() == partner


@pytest.mark.parametrize("around", ["view", "own_view"])
def test_pairing_is_affinity_then_walk(around: Any) -> None:
    z, z_prime = two_views(40, 6, seed=5)
    kernel: dict[str, Any] = {"percentile": 50.0, "scale_over": "neighbors", "around": around}
    walked = RandomWalkPairing(k=3, **kernel)(
        z, z_prime, generator=torch.Generator().manual_seed(9)
    )
    affinity = neighbor_affinity(z, z_prime, k=3, **kernel)
    pairs = random_walk(affinity, generator=torch.Generator().manual_seed(9))
    assert torch.equal(walked.indices, pairs.indices)
    assert torch.equal(walked.weights, pairs.weights)
    assert torch.equal(walked.z, z)
    assert torch.equal(walked.z_partner, z_prime[pairs.indices])
    assert walked.nontrivial == (pairs.indices != torch.arange(40)).double().mean()


def test_gradient_flows_through_the_rows_and_sums_over_repeated_partners() -> None:
    z, z_prime = (view.requires_grad_() for view in two_views(4, 3, seed=6))
    pairs = Pairs(torch.tensor([2, 2, 0, 2]), torch.ones(4, dtype=torch.float64))
    walked = RandomWalkPairing(k=2)(z, z_prime, pairs=pairs)
    walked.z_partner.sum().backward()
    assert z_prime.grad is not None
    assert z_prime.grad[:, 0].tolist() == [1, 0, 3, 0]


def test_given_uniforms_are_those_a_generator_would_draw() -> None:
    z, z_prime = two_views(16, 6, seed=7)
    pairing = RandomWalkPairing()
    uniforms = torch.rand(16, generator=torch.Generator().manual_seed(4))
    drawn = pairing(z, z_prime, generator=torch.Generator().manual_seed(4))
    given_numbers = pairing(z, z_prime, uniforms=uniforms)
    assert torch.equal(drawn.indices, given_numbers.indices)


class Waits(TorchDispatchMode):
    """Counts values that are looked at: on a GPU, each waits for all that came before it."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def test_rows_that_the_search_checks_are_not_checked_before_it() -> None:
    counts = {}
    for around in ("view", "own_view"):
        with Waits() as waits:
            RandomWalkPairing(k=3, around=around)(*two_views(16, 6, seed=8))
        counts[around] = waits.count
    # Around the own view the search sees one side only: the other needs a look of its own.
    assert counts["view"] == counts["own_view"] - 1

"""A wrong argument is named, with its value, in one line."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sag_vicreg.losses import BarlowTwinsLoss, NTXentLoss, SAGVICRegLoss, VICRegLoss
from sag_vicreg.pairing import Pairs, RandomWalkPairing, neighbor_affinity, random_walk

Z = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))

OF_TWO_VIEWS: dict[str, Callable[..., Any]] = {
    "neighbor_affinity": neighbor_affinity,
    "RandomWalkPairing": RandomWalkPairing(),
    "VICRegLoss": VICRegLoss(),
    "SAGVICRegLoss": SAGVICRegLoss(),
    "NTXentLoss": NTXentLoss(),
    "BarlowTwinsLoss": BarlowTwinsLoss(),
}


def with_value(value: float, row: int) -> Tensor:
    broken = Z.clone()
    broken[row, 2] = value
    return broken


@pytest.mark.parametrize("call", OF_TWO_VIEWS.values(), ids=OF_TWO_VIEWS.keys())
@pytest.mark.parametrize(
    ("z", "z_prime", "error", "message"),
    [
        (Z, Z[:6], ValueError, r"z has shape \(8, 4\) but z_prime \(6, 4\)"),
        (Z, Z[:, :3], ValueError, r"z_prime \(8, 3\)"),
        (Z[0], Z[0], ValueError, r"z has shape \(4,\)"),
        (Z, Z[:, :0], ValueError, r"z_prime has shape \(8, 0\)"),
        (Z[:1], Z[:1], ValueError, r"z has 1 row"),
        (Z[:0], Z[:0], ValueError, r"z has 0 row"),
        (with_value(float("nan"), 3), Z, ValueError, r"z has NaN .* 1 of 8 rows, first in row 3"),
        (Z, with_value(float("inf"), 5), ValueError, r"z_prime has NaN or inf.* first in row 5"),
        (Z, with_value(-float("inf"), 0), ValueError, r"z_prime .* row 0"),
        (Z.long(), Z, TypeError, r"z is torch.int64"),
        (Z, Z.int(), TypeError, r"z_prime is torch.int32"),
        (Z, Z.numpy(), TypeError, r"z_prime must be a torch.Tensor, not ndarray"),
        (Z, Z.to("meta"), ValueError, r"z is on cpu but z_prime on meta"),
    ],
)
def test_views(
    call: Callable[..., Any], z: Any, z_prime: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(z, z_prime)


def test_nan_is_found_when_pairs_leave_its_row_out() -> None:
    pairs = Pairs(torch.zeros(8, dtype=torch.long), torch.ones(8))
    with pytest.raises(ValueError, match=r"z_prime .* row 5"):
        SAGVICRegLoss()(Z, with_value(float("nan"), 5), pairs=pairs)


@pytest.mark.parametrize("loss", [VICRegLoss(), NTXentLoss(), BarlowTwinsLoss()])
def test_pairs_without_pairing(loss: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="pairs but has no pairing"):
        loss(Z, Z, pairs=Pairs(torch.arange(8), torch.ones(8)))


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_temperature(temperature: float) -> None:
    with pytest.raises(ValueError, match=f"temperature is {temperature}"):
        NTXentLoss(temperature=temperature)


def test_pairs_of_another_type() -> None:
    with pytest.raises(TypeError, match="not tuple"):
        SAGVICRegLoss()(Z, Z, pairs=(torch.arange(8), torch.ones(8)))  # type: ignore[arg-type]


def test_finite_values_whose_sum_is_not_are_accepted() -> None:
    huge = torch.full((4, 4), 3e38)
    assert neighbor_affinity(huge, huge, k=2).weights.isfinite().all()


@pytest.mark.parametrize("make", [RandomWalkPairing, SAGVICRegLoss])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k is 0"),
        ({"k": -2}, ValueError, "k is -2"),
        ({"k": 2.5}, TypeError, "k must be an int, not 2.5"),
        ({"k": True}, TypeError, "k must be an int, not True"),
        ({"percentile": -0.1}, ValueError, "percentile is -0.1"),
        ({"percentile": 100.5}, ValueError, "percentile is 100.5"),
        ({"percentile": float("nan")}, ValueError, "percentile is nan"),
        ({"scale_over": "batches"}, ValueError, "'batches': did you mean 'batch'"),
    ],
)
def test_options(
    make: Callable[..., Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(**options)
    with pytest.raises(error, match=message):
        neighbor_affinity(Z, Z, **options)


@pytest.mark.parametrize(
    "call", [lambda k: neighbor_affinity(Z, Z, k=k), lambda k: SAGVICRegLoss(k)(Z, Z)]
)
def test_k_beyond_the_batch(call: Callable[[int], Any]) -> None:
    with pytest.raises(ValueError, match="k is 9 but the batch has 8 rows"):
        call(9)
    call(8)


@pytest.mark.parametrize(
    ("indices", "weights", "error", "message"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 8], 8 * [1.0], ValueError, "indices run from 0 to 8"),
        ([0, 1, 2, 3, 4, 5, 6, -1], 8 * [1.0], ValueError, "indices run from -1 to 6"),
        ([0, 1, 2], 3 * [1.0], ValueError, r"shape \(3,\).* 8 rows"),
        (list(range(8)), 7 * [1.0], ValueError, r"weights of shape \(7,\)"),
        ([float(i) for i in range(8)], 8 * [1.0], TypeError, "indices are torch.float32"),
        (list(range(8)), 8 * [1], TypeError, "weights are torch.int64"),
        (list(range(8)), [*7 * [1.0], float("nan")], ValueError, "weights hold .* NaN"),
        (list(range(8)), [*7 * [1.0], -0.5], ValueError, "weights hold negative"),
    ],
)
def test_pairs(
    indices: list[float], weights: list[float], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SAGVICRegLoss()(Z, Z, pairs=Pairs(torch.tensor(indices), torch.tensor(weights)))


@pytest.mark.parametrize(
    ("uniforms", "error", "message"),
    [
        (torch.rand(7), ValueError, r"shape \(7,\).*8 rows"),
        (torch.rand(8, 1), ValueError, r"shape \(8, 1\)"),
        (torch.full((8,), 1.0), ValueError, r"from 1 to 1.*\[0, 1\)"),
        (torch.full((8,), -0.5), ValueError, r"from -0.5 to -0.5"),
        (torch.full((8,), float("nan")), ValueError, r"uniforms run"),
        (torch.zeros(8, dtype=torch.long), TypeError, "uniforms are torch.int64"),
    ],
)
def test_uniforms(uniforms: Tensor, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SAGVICRegLoss()(Z, Z, uniforms=uniforms)
    with pytest.raises(error, match=message):
        random_walk(neighbor_affinity(Z, Z), uniforms=uniforms)

"""Two and three real processes give the loss and gradients of one process on the whole batch.

The network has no BatchNorm, which could not be synchronised on CPU. Workers read the batch from a
file, run behind DistributedDataParallel over gloo, and save what they found.
"""

from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sag_vicreg.losses import BarlowTwinsLoss, NTXentLoss, SAGVICRegLoss, TwoViewLoss, VICRegLoss
from sag_vicreg.pairing import Pairs, RandomWalkPairing

LOSSES = {
    "vicreg": VICRegLoss,
    "sag-vicreg": SAGVICRegLoss,
    "literal": lambda: SAGVICRegLoss(around="view", scale_over="batch"),
    "nt-xent": lambda: NTXentLoss(pairing=RandomWalkPairing()),
    "barlow-twins": lambda: BarlowTwinsLoss(pairing=RandomWalkPairing()),
}
# Rows of each process: even, uneven, and one with none at all.
SPLITS = {2: [(8, 8), (11, 5)], 3: [(6, 6, 4), (9, 0, 7)]}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


@dataclass(frozen=True)
class Case:
    """One loss on one split of the batch; ``fix`` says how its pairs are fixed."""

    loss: str
    dtype: torch.dtype
    fix: str
    width: int

    def network(self) -> nn.Sequential:
        """Without a last bias: shifting all rows changes no loss here, its gradient is rounding."""
        torch.manual_seed(0)
        layers = nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, self.width, bias=False)
        return nn.Sequential(*layers).to(self.dtype)

    def draw(self, n: int) -> dict[str, Any]:
        if self.loss == "vicreg":
            return {}
        generator = torch.Generator().manual_seed(1)
        if self.fix == "generator":
            return {"generator": generator}
        if self.fix == "uniforms":
            return {"uniforms": torch.rand(n, generator=generator)}
        indices = torch.randint(n, (n,), generator=generator)
        return {"pairs": Pairs(indices, torch.rand(n, generator=generator))}


# Widths on either side of the batch's 16 rows: the d x d matrix and the Gram matrix.
CASES = [
    Case(loss, dtype, "pairs", width)
    for loss in LOSSES
    for dtype in TOLERANCE
    for width in (10, 40)
]
CASES += [
    Case(loss, torch.float64, fix, 40)
    for loss in LOSSES
    if loss != "vicreg"
    for fix in ("generator", "uniforms")
]


def run(case: Case, network: nn.Module, x: Tensor, x_prime: Tensor, n: int) -> dict[str, Tensor]:
    """Loss, terms, every parameter's gradient, and in double precision a second derivative."""
    loss: TwoViewLoss = LOSSES[case.loss]()
    # One pass for both views: DistributedDataParallel allows one forward a backward.
    z = network(torch.cat((x, x_prime)).to(case.dtype))
    terms = loss(z[: len(x)], z[len(x) :], **case.draw(n))
    network.zero_grad()
    terms.total.backward()
    found = {"total": terms.total.detach(), **{k: v.detach() for k, v in terms.parts.items()}}
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        found[name.removeprefix("module.")] = parameter.grad.clone()
    if case.dtype == torch.float64:
        found["curvature"] = curvature(case, x, x_prime, n)
    return found


def curvature(case: Case, x: Tensor, x_prime: Tensor, n: int) -> Tensor:
    """The product of the loss's second derivative with a vector, averaged over processes."""
    network = case.network()
    parameters = list(network.parameters())
    terms = LOSSES[case.loss]()(network(x), network(x_prime), **case.draw(n))
    slopes = torch.autograd.grad(terms.total, parameters, create_graph=True)
    generator = torch.Generator().manual_seed(3)
    along = sum(
        (slope * torch.randn(slope.shape, generator=generator, dtype=slope.dtype)).sum()
        for slope in slopes
    )
    found = torch.cat([g.flatten() for g in torch.autograd.grad(along, parameters)])
    if dist.is_initialized():
        dist.all_reduce(found)
        found /= dist.get_world_size()
    return found


def worker(rank: int, folder: Path) -> None:
    """One of three processes, of which the first two are also the two."""
    torch.set_num_threads(1)
    for world_size in SPLITS:
        if rank < world_size:
            work_together(rank, world_size, folder)


def work_together(rank: int, world_size: int, folder: Path) -> None:
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet-{world_size}", rank=rank, world_size=world_size
    )
    x, x_prime = torch.load(folder / "batch.pt", weights_only=True)
    found, refused = {}, {}
    for sizes in SPLITS[world_size]:
        own = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
        found[sizes] = [
            run(case, DistributedDataParallel(case.network()), x[own], x_prime[own], len(x))
            for case in CASES
        ]
        refused[sizes] = refusals(x[own], x_prime[own], rank)
    torch.save((found, refused), folder / f"{rank}-of-{world_size}.pt")
    dist.destroy_process_group()


def refusals(x: Tensor, x_prime: Tensor, rank: int) -> list[str]:
    """What each process says when the last of them has a broken row, or a narrower batch."""
    last = rank == dist.get_world_size() - 1
    broken = x.clone()
    broken[-1:] = float("nan") if last else broken[-1:]
    messages = []
    for views in ((broken, x_prime), (x[:, : 4 if last else 5], x_prime[:, : 4 if last else 5])):
        with pytest.raises(ValueError, match=r".") as refused:
            SAGVICRegLoss()(*views)
        messages.append(str(refused.value))
    return messages


@pytest.fixture(scope="module")
def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(16, 5, generator=generator, dtype=torch.float64)
    return x, x + 0.3 * torch.randn(16, 5, generator=generator, dtype=torch.float64)


@pytest.fixture(scope="module")
def alone(batch: tuple[Tensor, Tensor]) -> list[dict[str, Tensor]]:
    """What one process finds on the whole batch."""
    return [run(case, case.network(), *batch, 16) for case in CASES]


@pytest.fixture(scope="module")
def together(
    batch: tuple[Tensor, Tensor],
    processes: ForkServerContext,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """What two and three processes find, in one file each."""
    folder = tmp_path_factory.mktemp("processes")
    torch.save(batch, folder / "batch.pt")
    # Daemons: where one fails, the others wait for it no longer than the tests run.
    members = [
        processes.Process(target=worker, args=(rank, folder), daemon=True)
        for rank in range(max(SPLITS))
    ]
    for member in members:
        member.start()
    for member in members:
        member.join()
        assert member.exitcode == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("world_size", SPLITS)
def test_every_process_has_the_loss_and_gradients_of_one(
    world_size: int, alone: list[dict[str, Tensor]], together: Path
) -> None:
    for rank in range(world_size):
        found, refused = torch.load(together / f"{rank}-of-{world_size}.pt", weights_only=True)
        for sizes in SPLITS[world_size]:
            for case, expected, measured in zip(CASES, alone, found[sizes], strict=True):
                assert measured.keys() == expected.keys()
                for name, value in expected.items():
                    error, size = (measured[name] - value).norm(), value.norm()
                    assert error <= TOLERANCE[case.dtype] * size, (case, name, sizes, rank)
            assert refused[sizes] == [
                "z has NaN or infinite values in 1 of 16 rows, first in row 15: "
                "the network has diverged or its input is broken",
                f"z has {[5] * (world_size - 1) + [4]} columns on ranks 0 to {world_size - 1}: "
                "they must agree",
            ]


def test_the_walk_moves_in_these_cases(alone: list[dict[str, Tensor]]) -> None:
    """Otherwise equality would say nothing about gathered pairs."""
    for case, found in zip(CASES, alone, strict=True):
        assert (found["nontrivial"] > 0) == (case.loss != "vicreg"), case

"""Two uneven processes train DINO, MAE and I-JEPA exactly as one: gradients, centre, teacher."""

from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from sag_vicreg.methods import Moment, make_method
from sag_vicreg.recipes import load_recipe

NAMES = ("dino", "mae", "i-jepa")
N = 5
ROWS = (slice(0, 2), slice(2, 5))


def trained_two_steps(name: str, rows: slice) -> dict[str, Tensor]:
    """Two steps of plain gradient descent, gradients averaged over processes as DDP does."""
    torch.manual_seed(0)
    method = make_method(load_recipe(f"shapes/{name}", scale="smoke")).double()
    sizes = (32, 32, 16, 16) if name == "dino" else (32,)
    draw = torch.Generator().manual_seed(1)
    views = [torch.randn(N, 3, s, s, generator=draw, dtype=torch.float64) for s in sizes]
    for step in range(2):
        at = Moment(seed=3, epoch=0, step=step, total_steps=2, batch_size=N, rows=rows)
        method.zero_grad()
        terms = method([view[rows] for view in views], at)
        terms.total.backward()
        method.after_backward(at)
        for parameter in method.parameters():
            if parameter.grad is not None:
                if dist.is_initialized():
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= dist.get_world_size()
                parameter.data -= 0.1 * parameter.grad
        method.after_step(at)
    return method.state_dict() | {"last loss": terms.total.detach()}


def train_together(rank: int, folder: Path) -> None:
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    for name in NAMES:
        torch.save(trained_two_steps(name, ROWS[rank]), folder / f"{name}-{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_uneven_processes_equal_one(processes: ForkServerContext, tmp_path: Path) -> None:
    # Daemons: where one fails, the other waits for it no longer than the tests run.
    both = [
        processes.Process(target=train_together, args=(rank, tmp_path), daemon=True)
        for rank in (0, 1)
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
        assert each.exitcode == 0
    for name in NAMES:
        alone = trained_two_steps(name, slice(0, N))
        for rank in (0, 1):
            together = torch.load(tmp_path / f"{name}-{rank}.pt", weights_only=True)
            for key, value in alone.items():
                torch.testing.assert_close(together[key], value, msg=lambda m, k=key: f"{k}: {m}")
    assert torch.load(tmp_path / "dino-0.pt", weights_only=True)["dino.center"].abs().max() > 1e-4

"""What many processes need: the whole batch on each, gradients that come home, full precision.

Every process computes the same loss L from the gathered rows. The gather's backward sums the
gradients of all processes and returns each its own rows, W times dL/d(rows) for W processes;
the mean that DistributedDataParallel takes over processes is then exactly the gradient of one
process on the whole batch. Returning only the local gradient would be W times too small.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from sag_vicreg.errors import InputError, NotFiniteError


def world_size() -> int:
    """Count the processes that share a batch; 1 without ``torch.distributed``."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


@dataclass(frozen=True, eq=False)
class GlobalViews:
    """Two views of the whole batch, their shapes checked, float32 or float64.

    Attributes
    ----------
    z, z_prime : (n, d)
        Rows of all processes, in order of rank.
    sizes : tuple of int
        Rows of each process; ``(n,)`` where there is only one.
    own : slice
        The rows of this process.
    """

    z: Tensor
    z_prime: Tensor
    sizes: tuple[int, ...]
    own: slice


def gather_views(z: Tensor, z_prime: Tensor) -> GlobalViews:
    """Check the shapes of two views, bring them to float32 at least, and gather all processes'.

    With one process, or without ``torch.distributed``, the views are the batch already. Processes
    may hold different numbers of rows, none included.
    """
    z, z_prime = working_views(z, z_prime)
    sizes: tuple[int, ...] = (len(z),)
    own = slice(0, len(z))
    if world_size() > 1:
        sizes = _row_counts(z)
        before = sum(sizes[: dist.get_rank()])
        own = slice(before, before + len(z))
        # Both views in one collective, forward and backward.
        views: Tensor = _GatherRows.apply(torch.stack((z, z_prime), dim=1), sizes, own)  # type: ignore[no-untyped-call]
        z, z_prime = views[:, 0], views[:, 1]
    check_rows(z)
    return GlobalViews(z, z_prime, sizes, own)


def gather_rows(rows: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Concatenate the rows of all processes: pad to the longest, gather, trim. No gradient."""
    if len(sizes) == 1:
        return rows
    padded = rows.new_zeros(max(sizes), *rows.shape[1:])
    padded[: len(rows)] = rows
    gathered = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(gathered, padded)
    return torch.cat([piece[:size] for piece, size in zip(gathered, sizes, strict=True)])


def _row_counts(z: Tensor) -> tuple[int, ...]:
    shape = torch.tensor(z.shape, device=z.device)
    shapes = [torch.empty_like(shape) for _ in range(world_size())]
    dist.all_gather(shapes, shape)
    counts, widths = torch.stack(shapes).T.tolist()
    if len(set(widths)) > 1:
        raise InputError(f"z has {widths} columns on ranks 0 to {len(widths) - 1}: they must agree")
    return tuple(counts)


class _GatherRows(torch.autograd.Function):
    """Rows of all processes, from those of each."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, sizes: tuple[int, ...], own: slice) -> Tensor:
        ctx.sizes, ctx.own = sizes, own
        return gather_rows(rows, sizes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        own: Tensor = _SumOwnRows.apply(grads[0], ctx.sizes, ctx.own)  # type: ignore[no-untyped-call]
        return own, None, None


class _SumOwnRows(torch.autograd.Function):
    """A process's own rows of the sum over all processes: how gradients come home.

    It and the gather are each other's derivative, so that second derivatives are right too.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, sizes: tuple[int, ...], own: slice) -> Tensor:
        ctx.sizes, ctx.own = sizes, own
        total = rows.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[own]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        every: Tensor = _GatherRows.apply(grads[0], ctx.sizes, ctx.own)  # type: ignore[no-untyped-call]
        return every, None, None


def over_the_batch(loss: Tensor, n: int, batch_size: int) -> Tensor:
    """Turn the mean over this process's ``n`` images into the loss of the whole batch.

    Its value is the mean over all images, the same on every process. Its gradient is weighted so
    that DistributedDataParallel's plain average over processes is that mean's gradient, also where
    processes hold different numbers of images.
    """
    if world_size() == 1:
        return loss
    loss = loss * (n * world_size() / batch_size)
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return loss + (mean / world_size() - loss.detach())


def mean_over_processes(rows: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Average ``rows`` over ``dims``, kept, and over all processes, however many rows each has."""
    total = rows.sum(dim=dims, keepdim=True)
    count = total.new_tensor(rows.numel() / total.numel())
    if world_size() > 1:
        dist.all_reduce(total)
        dist.all_reduce(count)
    return total / count


def at_least_float32(values: Tensor) -> Tensor:
    """Return ``values`` out of half precision, for a loss; float64 stays float64."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def full_precision(z: Tensor) -> AbstractContextManager[object]:
    """Switch autocast off where ``z`` lives: matrix products keep the dtype they are given."""
    return torch.autocast(z.device.type, enabled=False)


def working_views(z: Tensor, z_prime: Tensor) -> tuple[Tensor, Tensor]:
    """Return two floating-point (n, d) views in one dtype, float32 or float64.

    Half precision is too coarse for distances. Anything but two tensors of one shape on one device
    is refused.
    """
    for name, view in (("z", z), ("z_prime", z_prime)):
        if not isinstance(view, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, not {type(view).__name__}")
        if not view.is_floating_point():
            raise TypeError(f"{name} is {view.dtype}: embeddings are floating point, cast it first")
        if view.ndim != 2 or view.shape[1] == 0:
            raise InputError(f"{name} has shape {tuple(view.shape)}: embeddings are (n, d), d >= 1")
    if z.shape != z_prime.shape:
        raise InputError(
            f"z has shape {tuple(z.shape)} but z_prime {tuple(z_prime.shape)}: "
            "row i of both must be views of the same image"
        )
    if z.device != z_prime.device:
        raise InputError(f"z is on {z.device} but z_prime on {z_prime.device}: move one of them")
    dtype = torch.promote_types(torch.promote_types(z.dtype, z_prime.dtype), torch.float32)
    return z.to(dtype), z_prime.to(dtype)


def check_rows(z: Tensor) -> None:
    """Refuse a whole batch of fewer than two rows."""
    if len(z) < 2:
        raise InputError(f"z has {len(z)} row(s): pairs and variances need a batch of at least 2")


@torch.no_grad()
def check_finite(z: Tensor, z_prime: Tensor) -> None:
    """Refuse NaN and infinite values, naming the first row that has one.

    Skipped under ``torch.compile``: to look at a value would break the graph, and wait for a GPU.
    """
    # A sum is finite only if every term is: one cheap pass and, on a GPU, one wait.
    if torch.compiler.is_compiling() or (z.sum() + z_prime.sum()).isfinite():
        return
    for name, view in (("z", z), ("z_prime", z_prime)):
        broken = (~view.isfinite().all(dim=1)).nonzero().flatten().tolist()
        if broken:
            raise NotFiniteError(
                f"{name} has NaN or infinite values in {len(broken)} of {len(view)} rows, "
                f"first in row {broken[0]}: the network has diverged or its input is broken"
            )

"""The whole batch on every process, with gradients that come home exactly.

Every process computes the same loss L from the gathered rows. The gather's backward sums the
gradients of all processes and returns each its own rows, W times dL/d(rows) for W processes;
the mean that DistributedDataParallel takes over processes is then exactly the gradient of one
process on the whole batch. Returning only the local gradient would be W times too small.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from sag_vicreg.errors import InputError
from sag_vicreg.pairing.views import check_rows, check_views, working_dtype


@dataclass(frozen=True, eq=False)
class GlobalViews:
    """Two views of the whole batch, their shapes checked, float32 or float64.

    Attributes
    ----------
    z, z_prime : (n, d)
        Rows of all processes, in order of rank.
    sizes : tuple of int
        Rows of each process; ``(n,)`` where there is only one.
    rank : int
        This process.
    """

    z: Tensor
    z_prime: Tensor
    sizes: tuple[int, ...]
    rank: int

    @property
    def own(self) -> slice:
        """The rows of this process."""
        return own_rows(self.sizes, self.rank)


def gather_views(z: Tensor, z_prime: Tensor) -> GlobalViews:
    """Check the shapes of two views, bring them to float32 at least, and gather all processes'.

    With one process, or without ``torch.distributed``, the views are the batch already. Processes
    may hold different numbers of rows, none included.
    """
    check_views(z, z_prime)
    dtype = working_dtype(z, z_prime)
    z, z_prime = z.to(dtype), z_prime.to(dtype)
    sizes: tuple[int, ...] = (len(z),)
    rank = 0
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        sizes, rank = _row_counts(z), dist.get_rank()
        # Both views in one collective, forward and backward.
        views: Tensor = _GatherRows.apply(torch.stack((z, z_prime), dim=1), sizes, rank)  # type: ignore[no-untyped-call]
        z, z_prime = views[:, 0], views[:, 1]
    check_rows(z)
    return GlobalViews(z, z_prime, sizes, rank)


def gather_rows(rows: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Concatenate the rows of all processes: pad to the longest, gather, trim. No gradient."""
    if len(sizes) == 1:
        return rows
    padded = rows.new_zeros(max(sizes), *rows.shape[1:])
    padded[: len(rows)] = rows
    gathered = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(gathered, padded)
    return torch.cat([piece[:size] for piece, size in zip(gathered, sizes, strict=True)])


def own_rows(sizes: tuple[int, ...], rank: int) -> slice:
    """Where the rows of ``rank`` lie in the whole batch."""
    start = sum(sizes[:rank])
    return slice(start, start + sizes[rank])


def _row_counts(z: Tensor) -> tuple[int, ...]:
    shape = torch.tensor(z.shape, device=z.device)
    shapes = [torch.empty_like(shape) for _ in range(dist.get_world_size())]
    dist.all_gather(shapes, shape)
    counts, widths = torch.stack(shapes).T.tolist()
    if len(set(widths)) > 1:
        raise InputError(f"z has {widths} columns on ranks 0 to {len(widths) - 1}: they must agree")
    return tuple(counts)


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, sizes: tuple[int, ...], rank: int) -> Tensor:
        ctx.own = own_rows(sizes, rank)
        return gather_rows(rows, sizes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        total = grads[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[ctx.own], None, None

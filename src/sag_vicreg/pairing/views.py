"""What a batch of two views must be before anything is computed from it."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor

from sag_vicreg.errors import InputError, NotFiniteError


def check_views(z: Tensor, z_prime: Tensor) -> None:
    """Refuse anything but two floating-point (n, d) tensors of one shape on one device."""
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


def check_rows(z: Tensor) -> None:
    """Refuse a whole batch of fewer than two rows."""
    if len(z) < 2:
        raise InputError(f"z has {len(z)} row(s): pairs and variances need a batch of at least 2")


@torch.no_grad()
def check_finite(z: Tensor, z_prime: Tensor) -> None:
    """Refuse NaN and infinite values, naming the first row that has one."""
    # A sum is finite only if every term is: one cheap pass and, on a GPU, one wait.
    if (z.sum() + z_prime.sum()).isfinite():
        return
    for name, view in (("z", z), ("z_prime", z_prime)):
        broken = (~view.isfinite().all(dim=1)).nonzero().flatten().tolist()
        if broken:
            raise NotFiniteError(
                f"{name} has NaN or infinite values in {len(broken)} of {len(view)} rows, "
                f"first in row {broken[0]}: the network has diverged or its input is broken"
            )


def working_dtype(z: Tensor, z_prime: Tensor) -> torch.dtype:
    """float32, or float64 where a view already is: half precision is too coarse for distances."""
    return torch.promote_types(torch.promote_types(z.dtype, z_prime.dtype), torch.float32)


def full_precision(z: Tensor) -> AbstractContextManager[object]:
    """Switch autocast off where ``z`` lives: matrix products keep the dtype they are given."""
    return torch.autocast(z.device.type, enabled=False)

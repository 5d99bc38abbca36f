"""Models tried on PyTorch's meta device, which has shapes and no memory, before they cost any."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from sag_vicreg.errors import InputError, first_line
from sag_vicreg.machine import available_bytes


@contextmanager
def without_memory() -> Iterator[None]:
    """Build models on the meta device; no generator moves meanwhile, so that weights stay."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        yield


def check_fits(model: nn.Module, what: str, *, copies: int = 1) -> None:
    """Refuse a model whose parameters, so many times over, do not fit in memory.

    ``copies`` counts what stands beside the weights: gradients, and what an optimiser keeps.
    """
    needed = copies * sum(p.numel() * p.element_size() for p in model.parameters())
    free = available_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"{what} has {sum(p.numel() for p in model.parameters()):,} parameters, which need "
            f"{needed / 1e9:,.1f} GB where {free / 1e9:,.1f} GB are free: choose smaller widths"
        )


@contextmanager
def naming_full_memory() -> Iterator[None]:
    """Make one line of memory that runs out: activations are known only once they are there."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and "can't allocate memory" not in str(error):  # of the CPU's allocator
            raise
        raise InputError(
            f"memory ran out ({first_line(error)}): lower the batch size, the images' size or the "
            "model's widths, or leave more memory free"
        ) from error


def check_rates(model: nn.Module, what: str) -> None:
    """Refuse layers that drop with a probability outside 0 to 1: a step would crash on them."""
    for layer in model.modules():
        rate = getattr(layer, "drop_prob", None)  # timm's name for it
        if isinstance(rate, int | float) and not 0 <= rate < 1:
            raise InputError(
                f"{what} would drop with probability {rate:g}: give a rate from 0 to below 1"
            )

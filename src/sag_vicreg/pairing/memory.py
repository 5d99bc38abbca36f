"""Embeddings of earlier batches, as further candidates for a partner."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from sag_vicreg.errors import InputError


class Memory(nn.Module):
    """The last ``size`` embeddings, newest first, without gradient.

    A buffer as long as it is full: what a checkpoint keeps is what comes back, bit for bit.

    Attributes
    ----------
    rows : (at most size, d)
        Empty, (0, 0), before the first batch.
    """

    rows: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("rows", torch.empty(0, 0))

    def behind(self, z_prime: Tensor) -> Tensor:
        """Return the candidates: the batch's own rows, then what is remembered."""
        if len(self.rows) == 0:
            return z_prime
        if self.rows.shape[1] != z_prime.shape[1]:
            raise InputError(
                f"z_prime has {z_prime.shape[1]} columns but the memory {self.rows.shape[1]}: "
                "one pairing serves one width, make another"
            )
        return torch.cat((z_prime, self.rows.to(z_prime)))

    @torch.no_grad()
    def push(self, z_prime: Tensor) -> None:
        """Remember a whole batch, that of all processes, and forget the oldest."""
        self.rows = self.behind(z_prime.detach())[: self.size].clone()

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        # PyTorch copies into a buffer as it is, and a memory grows.
        stored = state_dict.get(f"{prefix}rows")
        if stored is not None:
            self.rows = self.rows.new_empty(stored.shape, dtype=stored.dtype)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        """Show the size where a model is printed."""
        return f"size={self.size}"

"""Comparing checkpoints to the bit."""

import torch


def bits(value: object) -> object:
    """Return checkpoint contents with each tensor as its bytes: equal means equal to the bit."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return [bits(item) for item in value] if isinstance(value, list | tuple) else value

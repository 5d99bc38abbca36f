"""LARS, AdamW and the learning rate of every step.

LARS is written out here because neither timm's nor lightly's is the official one: both divide by
``||g|| + decay * ||w||`` where the official code divides by the norm of the decayed gradient, and
both tie adaptation to a decay that is not zero.
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from sag_vicreg.errors import InputError, first_line
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.schema import LARSSection


class LARS(Optimizer):
    """Layer-wise adaptive rate scaling, as in the official VICReg code.

    Each parameter's decayed gradient is scaled to ``eta`` times the parameter's own norm (and left
    alone where either norm is zero), then enters plain momentum. Parameters with at most one
    dimension, biases and norms, neither decay nor adapt.

    Parameters
    ----------
    params
        Parameters to train.
    lr, momentum, weight_decay, eta
        Learning rate, momentum, decay and trust coefficient.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        *,
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 1e-6,
        eta: float = 0.001,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "eta": eta}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            adapted = [p for p in params if p.ndim > 1]
            plain = [p for p in params if p.ndim <= 1]
            if adapted:
                self._move(adapted, _adapted_gradients(adapted, group), group)
            if plain:
                self._move(plain, _gradients(plain), group)
        return loss

    def _move(self, params: list[Tensor], updates: list[Tensor], group: dict[str, Any]) -> None:
        for p in params:
            if not self.state[p]:
                self.state[p]["momentum"] = torch.zeros_like(p)
        velocities = [self.state[p]["momentum"] for p in params]
        torch._foreach_mul_(velocities, group["momentum"])
        torch._foreach_add_(velocities, updates)
        torch._foreach_add_(params, velocities, alpha=-group["lr"])


def _gradients(params: list[Tensor]) -> list[Tensor]:
    return [p.grad for p in params if p.grad is not None]


def _adapted_gradients(params: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
    updates = torch._foreach_add(_gradients(params), params, alpha=group["weight_decay"])
    weight_norms = torch.stack(list(torch._foreach_norm(params)))
    update_norms = torch.stack(list(torch._foreach_norm(updates)))
    trust = torch.where(
        (weight_norms > 0) & (update_norms > 0), group["eta"] * weight_norms / update_norms, 1.0
    )
    torch._foreach_mul_(updates, list(trust.unbind()))
    return list(updates)


def make_optimizer(recipe: Recipe, module: nn.Module) -> Optimizer:
    """Build the recipe's optimiser over everything that trains."""
    section = recipe.optimizer
    params = [p for p in module.parameters() if p.requires_grad]
    if isinstance(section, LARSSection):
        return LARS(
            params,
            lr=recipe.learning_rate,
            momentum=section.momentum,
            weight_decay=section.weight_decay,
            eta=section.eta,
        )
    groups = [
        {"params": [p for p in params if p.ndim > 1], "weight_decay": section.weight_decay},
        {"params": [p for p in params if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=recipe.learning_rate, betas=section.betas)


# What each optimiser remembers of a parameter: tensors of its shape, and a count of steps.
_REMEMBERED = {LARS: {"momentum"}, AdamW: {"step", "exp_avg", "exp_avg_sq"}}


def load_optimizer(optimizer: Optimizer, state: dict[str, Any], source: Path) -> None:
    """Give an optimiser its state back; one that is not this optimiser's is refused in one line."""
    try:
        _check_groups(optimizer, state["param_groups"])
        _check_memory(optimizer, state["state"])
        optimizer.load_state_dict(state)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise InputError(
            f"checkpoint {source} does not hold the state of this recipe's optimiser "
            f"({first_line(error)}): delete it to go on from an older one"
        ) from error


def _check_groups(optimizer: Optimizer, groups: list[dict[str, Any]]) -> None:
    expected = optimizer.state_dict()["param_groups"]
    if len(groups) != len(expected):
        raise ValueError(f"{len(groups)} groups of parameters instead of {len(expected)}")
    for found, group in zip(groups, expected, strict=True):
        # The rate is set at every step; the rest is the recipe's.
        for key in group.keys() - {"lr"}:
            if key in found and found[key] != group[key]:
                raise ValueError(f"{key} is {found[key]} instead of {group[key]}")
        if "params" not in found:
            raise ValueError("a group without parameters")


def _check_memory(optimizer: Optimizer, memory: dict[int, dict[str, Tensor]]) -> None:
    params = dict(enumerate(p for group in optimizer.param_groups for p in group["params"]))
    for index, remembered in memory.items():
        if index not in params or remembered.keys() != _REMEMBERED[type(optimizer)]:
            raise ValueError(f"unexpected entries for parameter {index}")
        for key, tensor in remembered.items():
            shape = () if key == "step" else tuple(params[index].shape)
            if tuple(tensor.shape) != shape or not bool(tensor.isfinite().all()):
                raise ValueError(f"{key} of parameter {index} is not finite or of another shape")


def learning_rate(
    step: int, *, total_steps: int, warmup_steps: int, peak: float, final: float
) -> float:
    """Return the rate of ``step``: linear from 0 to ``peak``, then a cosine towards its share.

    Examples
    --------
    >>> rate = lambda step: learning_rate(
    ...     step, total_steps=110, warmup_steps=10, peak=2.0, final=0.001
    ... )
    >>> [round(rate(step), 3) for step in (0, 5, 10, 60, 110)]
    [0.0, 1.0, 2.0, 1.001, 0.002]
    """
    if step < warmup_steps:
        return peak * step / warmup_steps
    share = (step - warmup_steps) / (total_steps - warmup_steps)
    high = (1 + math.cos(math.pi * share)) / 2
    return peak * (high + final * (1 - high))

"""The momentum teacher of DINO and I-JEPA: a copy that follows the student's weights."""

import copy

from lightly.models.utils import deactivate_requires_grad
from timm.layers.drop import DropBlock2d, DropPath
from timm.layers.patch_dropout import PatchDropout
from torch import nn

# What drops something at random, and the attribute that says how often.
_DROPS: tuple[tuple[type[nn.Module], str], ...] = (
    *((kind, "p") for kind in (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)),
    *((kind, "drop_prob") for kind in (DropPath, DropBlock2d)),
    (PatchDropout, "prob"),
)


def momentum_teacher(student: nn.Module) -> nn.Module:
    """Copy a network, without gradients and without anything that is dropped at random.

    A target must not depend on chance: stochastic depth and dropout are the student's alone. The
    copy stays in training mode, where batch norms go by the batch.
    """
    teacher = copy.deepcopy(student)
    deactivate_requires_grad(teacher)
    for module in teacher.modules():
        for kind, share in _DROPS:
            if isinstance(module, kind):
                setattr(module, share, 0.0)
        if "drop_rate" in vars(module):  # timm's networks, before their classifiers
            vars(module)["drop_rate"] = 0.0
    return teacher

"""timm backbones by name, without a classifier."""

from typing import Any

import timm
from torch import nn

from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.methods.small_maps import speed_up_small_maps


def make_backbone(name: str, args: dict[str, Any] | None = None) -> nn.Module:
    """Create ``timm.create_model(name, **args)`` with pooled features as its output.

    The stem is timm's own and the last norm of each residual block starts at zero, as timm's
    ResNets do by default, so that plain timm rebuilds the same model from name and arguments.
    """
    if not timm.is_model(name):
        raise unknown_backbone(name)
    try:
        backbone: nn.Module = timm.create_model(name, num_classes=0, **(args or {}))
    except (TypeError, ValueError, AssertionError, RuntimeError) as error:
        raise InputError(
            f"backbone {name} does not take backbone.args {args}: {' '.join(str(error).split())}"
        ) from error
    return speed_up_small_maps(backbone)


def unknown_backbone(name: str) -> InputError:
    """Name the nearest timm model; all thousand of them would not help."""
    message = str(unknown_name("backbone", name, timm.list_models()))
    return InputError(message.partition(" Valid:")[0] + " `timm.list_models()` has them all")


def uses_channels_last(backbone: nn.Module) -> bool:
    """Whether the backbone is convolutional, where channels-last is the faster layout."""
    return not hasattr(backbone, "patch_embed")

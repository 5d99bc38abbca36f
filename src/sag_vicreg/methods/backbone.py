"""timm backbones by name, without a classifier."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import timm
import torch
from torch import Tensor, nn

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
    except Exception as error:  # a thousand models raise what they like
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(f"backbone {name} does not take backbone.args {args}: {reason}") from error
    return speed_up_small_maps(backbone)


def output_width(backbone: nn.Module, image_size: int) -> int:
    """Run a blank image through ``backbone`` and return the width of its representation.

    timm's ``num_features`` is not the width of every model's output, and nothing but running a
    model tells whether it takes images of this size.
    """
    blank = torch.zeros(1, 3, image_size, image_size)
    try:
        with evaluating(backbone), torch.no_grad():
            output = backbone(blank)
    except Exception as error:  # a thousand models raise what they like
        raise InputError(
            f"the backbone cannot take colour images of {image_size} x {image_size} pixels "
            f"({' '.join(str(error).split())[:160]}): choose another size or another backbone"
        ) from error
    if not isinstance(output, Tensor) or output.ndim != 2:
        raise InputError(
            "the backbone does not turn an image into one vector: leave out what makes it return "
            "maps or lists (features_only, global_pool '')"
        )
    return output.shape[1]


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put every layer in evaluation mode, and back as each was."""
    modes = {layer: layer.training for layer in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for layer, mode in modes.items():
            layer.training = mode


def unknown_backbone(name: str) -> InputError:
    """Name the nearest timm model."""
    return unknown_name("backbone", name, timm.list_models(), listed_by="`timm.list_models()`")


def uses_channels_last(backbone: nn.Module) -> bool:
    """Whether the backbone is convolutional, where channels-last is the faster layout."""
    return not hasattr(backbone, "patch_embed")

"""timm backbones by name, without a classifier."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import timm
import torch
from torch import Tensor, nn

from sag_vicreg.errors import InputError, first_line, unknown_name
from sag_vicreg.methods.small_maps import speed_up_small_maps
from sag_vicreg.methods.trial import check_fits, check_rates, without_memory

# Of a constructor's parameters: what this package decides itself.
_DECIDED_HERE = {"self", "num_classes", "device", "dtype"}


def make_backbone(name: str, args: dict[str, Any] | None = None) -> nn.Module:
    """Create ``timm.create_model(name, **args)`` with pooled features as its output.

    The stem is timm's own and the last norm of each residual block starts at zero, as timm's
    ResNets do by default, so that plain timm rebuilds the same model from name and arguments.

    Arguments come from recipes and from ``config.json``, files that others may have written: only
    those that shape the model are handed on, and a model that cannot work is refused before it
    takes any memory.
    """
    if not timm.is_model(name):
        raise unknown_backbone(name)
    args = args or {}
    _check_args(name, args)
    what = f"backbone {name} with backbone.args {args}" if args else f"backbone {name}"
    try:
        with without_memory():
            trial = timm.create_model(name, num_classes=0, **args)
        check_rates(trial, what)
        check_fits(trial, what)
        backbone: nn.Module = timm.create_model(name, num_classes=0, **args)
    except InputError:
        raise
    except Exception as error:  # a thousand models raise what they like
        raise InputError(
            f"backbone {name} does not take backbone.args {args}: {first_line(error)}"
        ) from error
    return speed_up_small_maps(backbone)


def _check_args(name: str, args: dict[str, Any]) -> None:
    """Refuse every argument but those of the model's own constructor.

    ``timm.create_model`` takes others (``checkpoint_path``, ``pretrained``, ``pretrained_cfg``,
    ``cache_dir`` ...), and they load: files, and whatever lies behind an address.
    """
    for argument in args:
        if argument not in shaping_arguments(name):
            raise InputError(
                f"backbone {name} does not take backbone.args.{argument}, only what shapes the "
                f"model: {', '.join(sorted(shaping_arguments(name)))}"
            )


@cache
def shaping_arguments(name: str) -> frozenset[str]:
    """Return the arguments by which the constructor of a timm model can be shaped."""
    with without_memory():
        model = timm.create_model(name, num_classes=0)
    named = {
        parameter.name
        for layer in type(model).__mro__
        if issubclass(layer, nn.Module) and layer is not nn.Module
        for parameter in inspect.signature(layer.__init__).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    return frozenset(named - _DECIDED_HERE)


def output_width(backbone: nn.Module, image_size: int) -> int:
    """Run a blank image through ``backbone`` and return the width of its representation.

    timm's ``num_features`` is not the width of every model's output, and nothing but running a
    model tells whether it takes images of this size.
    """
    device = next((p.device for p in backbone.parameters()), None)
    blank = torch.zeros(1, 3, image_size, image_size, device=device)
    try:
        with evaluating(backbone), torch.no_grad():
            output = backbone(blank)
    except Exception as error:  # a thousand models raise what they like
        raise InputError(
            f"the backbone cannot take colour images of {image_size} x {image_size} pixels "
            f"({first_line(error)}): choose another size or another backbone"
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

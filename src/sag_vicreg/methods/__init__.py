"""Self-supervised methods: views in, :class:`~sag_vicreg.losses.LossTerms` out, one file each.

The class of every method that a recipe can name is here too, loaded when it is asked for:
``from sag_vicreg.methods import VICReg, SAGVICReg, DINO``.
"""

from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.methods.backbone import (
    evaluating,
    make_backbone,
    output_width,
    unknown_backbone,
    uses_channels_last,
)
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.heads import dino_head, expander, projector
from sag_vicreg.methods.moment import Moment, derived_seed
from sag_vicreg.methods.registry import make_method, method_class
from sag_vicreg.methods.trial import naming_full_memory
from sag_vicreg.methods.two_views import TwoViewMethod
from sag_vicreg.recipes.method_sections import METHODS

__all__ = [
    "Method",
    "Moment",
    "TwoViewMethod",
    "derived_seed",
    "dino_head",
    "evaluating",
    "expander",
    "make_backbone",
    "make_method",
    "naming_full_memory",
    "output_width",
    "projector",
    "unknown_backbone",
    "uses_channels_last",
]


def __getattr__(name: str) -> type[Method]:
    for section in METHODS.values():
        if section.implementation.endswith(f":{name}"):
            return method_class(section)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

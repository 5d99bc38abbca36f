"""Self-supervised methods: views in, :class:`~sag_vicreg.losses.LossTerms` out, one file each."""

from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.methods.backbone import make_backbone
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.registry import make_method

__all__ = ["Method", "Moment", "make_backbone", "make_method"]

"""One file a method: views in, loss terms out."""

from sag_vicreg import torchvision_ops as torchvision_ops

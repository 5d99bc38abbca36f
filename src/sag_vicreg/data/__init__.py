"""Datasets by name, splits by class, and views made in batches of tensors."""

from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.data.catalog import (
    Availability,
    available,
    check_dataset,
    dataset_names,
    load_dataset,
)
from sag_vicreg.data.dataset import ImageDataset
from sag_vicreg.data.resize import resize_squares
from sag_vicreg.data.views import (
    VIEW_KINDS,
    ViewDraw,
    Views,
    denormalize,
    make_views,
    normalize,
)

__all__ = [
    "VIEW_KINDS",
    "Availability",
    "ImageDataset",
    "ViewDraw",
    "Views",
    "available",
    "check_dataset",
    "dataset_names",
    "denormalize",
    "load_dataset",
    "make_views",
    "normalize",
    "resize_squares",
]

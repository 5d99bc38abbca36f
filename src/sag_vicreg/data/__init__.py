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
    IMAGE_MEAN,
    IMAGE_STD,
    VIEW_KINDS,
    TwoViews,
    ViewDraw,
    Views,
    denormalize,
    make_views,
    normalize,
)

__all__ = [
    "IMAGE_MEAN",
    "IMAGE_STD",
    "VIEW_KINDS",
    "Availability",
    "ImageDataset",
    "TwoViews",
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

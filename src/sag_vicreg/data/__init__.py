"""Datasets by name, splits by class, and views made in batches of tensors."""

from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.data.catalog import (
    Availability,
    available,
    check_dataset,
    load_dataset,
)
from sag_vicreg.data.dataset import ImageDataset
from sag_vicreg.data.encoded import EncodedImages, Files
from sag_vicreg.data.resize import resize_squares
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.data.views import (
    VIEW_KINDS,
    ViewDraw,
    Views,
    denormalize,
    make_views,
    normalize,
)
from sag_vicreg.recipes import dataset_names

__all__ = [
    "VIEW_KINDS",
    "Availability",
    "EncodedImages",
    "Files",
    "ImageDataset",
    "Records",
    "Request",
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

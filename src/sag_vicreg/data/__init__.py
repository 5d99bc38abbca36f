"""Datasets by name, splits by class, and views made in batches of tensors."""

from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.data.catalog import CATALOG, dataset_names, load_dataset
from sag_vicreg.data.dataset import ImageDataset

__all__ = ["CATALOG", "ImageDataset", "dataset_names", "load_dataset"]

"""Recipes: everything that decides a training run's result, as YAML and as checked Python objects.

Nothing here imports PyTorch, so a misspelt key is refused before anything heavy is loaded. Datasets
are declared in ``datasets``, methods in ``method_sections``.
"""

from sag_vicreg.recipes.datasets import DATASET_LABELS, DATASETS, DatasetEntry, find_dataset
from sag_vicreg.recipes.loading import load_recipe
from sag_vicreg.recipes.packaged import DEFAULT_SCALE, METHOD_LABELS, SCALES, recipe_names
from sag_vicreg.recipes.schema import Recipe

__all__ = [
    "DATASETS",
    "DATASET_LABELS",
    "DEFAULT_SCALE",
    "METHOD_LABELS",
    "SCALES",
    "DatasetEntry",
    "Recipe",
    "find_dataset",
    "load_recipe",
    "recipe_names",
]

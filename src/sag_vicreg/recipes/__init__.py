"""Recipes: everything that decides a training run's result, as YAML and as checked Python objects.

Nothing here imports PyTorch, so a misspelt key is refused before anything heavy is loaded. Datasets
are declared in ``datasets``, methods in ``method_sections``; other packages bring theirs by entry
points (:mod:`sag_vicreg.plugins`).
"""

from sag_vicreg.recipes.datasets import (
    DATASET_LABELS,
    DATASET_PLUGINS,
    DATASETS,
    DatasetEntry,
    dataset_names,
    find_dataset,
)
from sag_vicreg.recipes.loading import load_recipe
from sag_vicreg.recipes.method_sections import METHOD_PLUGINS, MethodSettings, PackagedRecipe
from sag_vicreg.recipes.packaged import DEFAULT_SCALE, METHOD_LABELS, SCALES, recipe_names
from sag_vicreg.recipes.schema import Recipe

__all__ = [
    "DATASETS",
    "DATASET_LABELS",
    "DATASET_PLUGINS",
    "DEFAULT_SCALE",
    "METHOD_LABELS",
    "METHOD_PLUGINS",
    "SCALES",
    "DatasetEntry",
    "MethodSettings",
    "PackagedRecipe",
    "Recipe",
    "dataset_names",
    "find_dataset",
    "load_recipe",
    "recipe_names",
]

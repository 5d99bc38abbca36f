"""Recipes: everything that decides a training run's result, as YAML and as checked Python objects.

Nothing here imports PyTorch, so a misspelt key is refused before anything heavy is loaded.
"""

from sag_vicreg.recipes.labels import METHOD_LABELS
from sag_vicreg.recipes.loading import load_recipe
from sag_vicreg.recipes.packaged import SCALES, recipe_names
from sag_vicreg.recipes.schema import Recipe

__all__ = ["METHOD_LABELS", "SCALES", "Recipe", "load_recipe", "recipe_names"]

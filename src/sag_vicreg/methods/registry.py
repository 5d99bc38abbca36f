"""From a recipe to its method."""

import copy

from torch import nn

from sag_vicreg.errors import InputError, first_line
from sag_vicreg.methods.backbone import make_backbone, output_width
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.trial import check_fits, without_memory
from sag_vicreg.recipes import METHOD_PLUGINS, MethodSettings, Recipe

# What stands in memory beside every weight: its gradient, and what an optimiser keeps of it.
_COPIES = 3


def make_method(recipe: Recipe, *, backbone: nn.Module | None = None) -> Method:
    """Build the method a recipe names, with freshly initialised weights.

    Parameters
    ----------
    backbone
        A network of your own, from images to vectors, instead of the recipe's.
    """
    if backbone is None:
        backbone = make_backbone(recipe.backbone.name, recipe.backbone.args)
    n_features = output_width(backbone, recipe.dataset.image_size)
    build = method_class(recipe.method).from_numbers
    numbers = recipe.method.model_dump(exclude={"name"})
    try:
        with without_memory():
            trial = build(copy.deepcopy(backbone).to("meta"), n_features, **numbers)
    except RuntimeError as error:  # numbers that no tensor could have
        raise InputError(
            f"method {recipe.method.name} cannot be built: {first_line(error)}"
        ) from error
    check_fits(trial, f"method {recipe.method.name}", copies=_COPIES)
    return build(backbone, n_features, **numbers)


def method_class(section: MethodSettings | type[MethodSettings]) -> type[Method]:
    """Import the class that implements a section of a recipe, from here or another package."""
    name, implementation = section.method_name(), section.implementation
    found = METHOD_PLUGINS.named_object(name, implementation)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise METHOD_PLUGINS.refusal(
            name, f"{implementation} is no subclass of sag_vicreg.methods.Method"
        )
    return found

"""The packaged recipes: files per family, dataset and method, merged for the asked scale.

A file in ``library`` is a list of fragments of a recipe. A fragment holds where its ``when`` says
so (``family``, ``dataset``, ``images``, ``method``, ``scale``; one value or a list) and everywhere
without one; ``images`` are ``small`` or ``photographs``. Fragments without a scale are the paper's;
``cpu`` ones go on top of those, ``smoke`` ones on top of ``cpu``. Within a scale the family comes
first, then the dataset, then the method, then what the recipe alone says.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from sag_vicreg.errors import InputError, check_name, unknown_name
from sag_vicreg.recipes.datasets import (
    DATASET_PLUGINS,
    DATASETS,
    PACKAGED_DATASETS,
    find_dataset,
)
from sag_vicreg.recipes.method_sections import METHOD_PLUGINS, METHODS, PackagedRecipe
from sag_vicreg.recipes.yaml_text import merge, parse_yaml

SCALES = ("paper", "cpu", "smoke")
# What a command takes where nobody says: one that ends on the machine it was typed on.
DEFAULT_SCALE = "cpu"
Fragment = Mapping[str, Any]

RECIPES: dict[str, tuple[str, PackagedRecipe]] = {
    recipe.name: (method, recipe)
    for method, section in METHODS.items()
    for recipe in section.recipes
}
"""What follows the dataset in a recipe's name: its method, and its declaration."""

METHOD_LABELS = {name: recipe.title for name, (_, recipe) in RECIPES.items()}
"""How methods are written for people. The baseline comes first: lists of models follow this."""


def recipe_names() -> tuple[str, ...]:
    """Every packaged recipe, as ``dataset/method``."""
    return tuple(f"{dataset}/{recipe}" for dataset in PACKAGED_DATASETS for recipe in RECIPES)


def packaged_recipe(name: str, scale: str) -> dict[str, Any]:
    """Merge the fragments that make up a packaged recipe."""
    check_name("scale", scale, SCALES)
    dataset, _, last = name.partition("/")
    if ":" in dataset:
        raise InputError(
            f"recipes are packaged for {', '.join(PACKAGED_DATASETS)}: take one of them and set "
            f"dataset.name, as --recipe shapes/sag-vicreg --set dataset.name={dataset}"
        )
    images, of_dataset = _dataset(dataset)
    method, declared, of_method = _method(dataset, last)
    here = {"family": declared.family, "dataset": dataset, "images": images, "method": method}
    fragments = [*_fragments(f"families/{declared.family}"), *of_dataset, *of_method]
    recipe: dict[str, Any] = {"name": name, "scale": scale}
    for layer in SCALES[: SCALES.index(scale) + 1]:
        for fragment in fragments:
            if _holds(fragment.get("when", {}), here | {"scale": layer}):
                recipe = merge(recipe, {k: v for k, v in fragment.items() if k != "when"})
    return recipe


def _dataset(name: str) -> tuple[str, Sequence[Fragment]]:
    """Return what kind of images a dataset holds, and its fragments."""
    if name in PACKAGED_DATASETS:
        return str(DATASETS[name].recipes), _fragments(f"datasets/{name}")
    entry = find_dataset(name)
    if entry is None or entry.recipes is None:
        raise unknown_name(
            "dataset in recipe", name, [*PACKAGED_DATASETS, *DATASET_PLUGINS.names()]
        )
    return entry.recipes, ({"dataset": {"name": name}}, *entry.fragments)


def _method(dataset: str, name: str) -> tuple[str, PackagedRecipe, Sequence[Fragment]]:
    """Return a recipe's method, its declaration, and the fragments of both."""
    if name in RECIPES:
        method, declared = RECIPES[name]
        own = _fragments(f"methods/{name}") if declared.own_file else []
        return method, declared, [*_fragments(f"methods/{method}"), *own]
    section = METHOD_PLUGINS.find(name)
    if section is None or not section.recipes:
        raise unknown_name(
            f"method in recipe {dataset}/", name, [*RECIPES, *METHOD_PLUGINS.names()]
        )
    return name, section.recipes[0], ({"method": {"name": name}}, *section.fragments)


@cache
def _fragments(file: str) -> list[Fragment]:
    source = resources.files("sag_vicreg.recipes") / "library" / f"{file}.yaml"
    fragments: list[Fragment] = parse_yaml(source.read_text(encoding="utf-8"))
    return fragments


def _holds(when: Mapping[str, Any], here: dict[str, str]) -> bool:
    # A fragment that names no scale belongs to the paper's.
    wanted = {"scale": "paper", **when}
    return all(
        here[key] in (value if isinstance(value, list) else [value])
        for key, value in wanted.items()
    )

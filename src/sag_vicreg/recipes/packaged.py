"""The packaged recipes: files per family, dataset and method, merged for the asked scale.

A file in ``library`` is a list of fragments of a recipe. A fragment holds where its ``when`` says
so (``family``, ``dataset``, ``images``, ``method``, ``scale``; one value or a list) and everywhere
without one; ``images`` are ``small`` or ``photographs``. Fragments without a scale are the paper's;
``cpu`` ones go on top of those, ``smoke`` ones on top of ``cpu``. Within a scale the family comes
first, then the dataset, then the method, then what the recipe alone says.
"""

from functools import cache
from importlib import resources
from typing import Any

from sag_vicreg.errors import InputError, check_name
from sag_vicreg.recipes.datasets import DATASETS, PACKAGED_DATASETS
from sag_vicreg.recipes.method_sections import METHODS, PackagedRecipe
from sag_vicreg.recipes.yaml_text import merge, parse_yaml

SCALES = ("paper", "cpu", "smoke")
# What a command takes where nobody says: one that ends on the machine it was typed on.
DEFAULT_SCALE = "cpu"

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
    check_name("dataset in recipe", dataset, PACKAGED_DATASETS)
    check_name(f"method in recipe {dataset}/", last, RECIPES)
    method, declared = RECIPES[last]
    here = {
        "family": declared.family,
        "dataset": dataset,
        "images": str(DATASETS[dataset].recipes),
        "method": method,
    }
    files = [f"families/{declared.family}", f"datasets/{dataset}", f"methods/{method}"]
    files += [f"methods/{last}"] if declared.own_file else []
    recipe: dict[str, Any] = {"name": name, "scale": scale}
    for layer in SCALES[: SCALES.index(scale) + 1]:
        for file in files:
            for fragment in _fragments(file):
                if _holds(fragment.get("when", {}), here | {"scale": layer}):
                    recipe = merge(recipe, {k: v for k, v in fragment.items() if k != "when"})
    return recipe


@cache
def _fragments(file: str) -> list[dict[str, Any]]:
    source = resources.files("sag_vicreg.recipes") / "library" / f"{file}.yaml"
    fragments: list[dict[str, Any]] = parse_yaml(source.read_text(encoding="utf-8"))
    return fragments


def _holds(when: dict[str, Any], here: dict[str, str]) -> bool:
    # A fragment that names no scale belongs to the paper's.
    wanted = {"scale": "paper"} | when
    return all(
        here[key] in (value if isinstance(value, list) else [value])
        for key, value in wanted.items()
    )

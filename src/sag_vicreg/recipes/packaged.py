"""The packaged recipes: files per family, dataset and method, merged for the asked scale.

A file in ``library`` is a list of fragments of a recipe. A fragment holds where its ``when`` says
so (``family``, ``dataset``, ``method``, ``scale``; one value or a list) and everywhere without
one. Fragments without a scale are the paper's; ``cpu`` ones go on top of those, ``smoke`` ones on
top of ``cpu``. Within a scale the family comes first, then the dataset, then the method.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.recipes.yaml_text import merge, parse_yaml

SCALES = ("paper", "cpu", "smoke")

# Recipe name of a method -> the family whose backbone it trains.
FAMILIES = {
    "vicreg": "resnet",
    "sag-vicreg": "resnet",
    "simclr": "resnet",
    "barlow-twins": "resnet",
    "vicreg-vit": "vit",
    "sag-vicreg-vit": "vit",
    "dino": "vit",
    "mae": "vit",
    "i-jepa": "vit",
}
PACKAGED_DATASETS = ("cifar100", "imagenet100", "imagenet1k", "caltech256", "shapes")


def recipe_names() -> tuple[str, ...]:
    """Every packaged recipe, as ``dataset/method``."""
    return tuple(f"{dataset}/{method}" for dataset in PACKAGED_DATASETS for method in FAMILIES)


def packaged_recipe(name: str, scale: str) -> dict[str, Any]:
    """Merge the fragments that make up a packaged recipe."""
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    dataset, _, method = name.partition("/")
    if name.count("/") != 1 or dataset not in PACKAGED_DATASETS or method not in FAMILIES:
        raise unknown_recipe(name)
    family = FAMILIES[method]
    here = {"dataset": dataset, "method": method.removesuffix("-vit")}
    recipe: dict[str, Any] = {"name": name, "scale": scale}
    for layer in SCALES[: SCALES.index(scale) + 1]:
        for file in (f"families/{family}", f"datasets/{dataset}", f"methods/{here['method']}"):
            for fragment in _fragments(file):
                if _holds(fragment.get("when", {}), here | {"scale": layer, "family": family}):
                    recipe = merge(recipe, {k: v for k, v in fragment.items() if k != "when"})
    return recipe


def unknown_recipe(name: str) -> Exception:
    """Name the part of ``dataset/method`` that is wrong."""
    dataset, _, method = name.partition("/")
    if name.startswith(("folder:", "parquet:")):
        return InputError(
            f"recipes are packaged for {', '.join(PACKAGED_DATASETS)}: take one of them and set "
            f"dataset.name, as --recipe shapes/sag-vicreg --set dataset.name={dataset}"
        )
    if dataset not in PACKAGED_DATASETS:
        return unknown_name("dataset in recipe", dataset, PACKAGED_DATASETS)
    return unknown_name(f"method in recipe {dataset}/", method, FAMILIES)


@cache
def _fragments(file: str) -> list[dict[str, Any]]:
    source = files("sag_vicreg.recipes") / "library" / f"{file}.yaml"
    fragments: list[dict[str, Any]] = parse_yaml(source.read_text(encoding="utf-8"), file)
    return fragments


def _holds(when: dict[str, Any], here: dict[str, str]) -> bool:
    # A fragment that names no scale belongs to the paper's.
    wanted = {"scale": "paper"} | when
    return all(
        here[key] in (value if isinstance(value, list) else [value])
        for key, value in wanted.items()
    )

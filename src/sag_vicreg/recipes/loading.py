"""From a name or a file, a scale and overrides to a checked recipe."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sag_vicreg.door import Kind, open_file
from sag_vicreg.errors import InputError
from sag_vicreg.recipes.packaged import packaged_recipe
from sag_vicreg.recipes.problems import one_line
from sag_vicreg.recipes.schema import VERSIONED, Recipe
from sag_vicreg.recipes.yaml_text import merge, parse_option, parse_yaml

RECIPE = Kind("a recipe in YAML", "mend it, or make it again by `sag-vicreg train`", 1 << 18)


def load_recipe(
    source: str | Path,
    *,
    scale: str | None = None,
    overrides: Sequence[str] = (),
    default_scale: str = "paper",
) -> Recipe:
    """Load a recipe by its packaged name or from a YAML file.

    Parameters
    ----------
    source
        ``dataset/method`` such as ``cifar100/sag-vicreg``, or the path of a YAML file. A file is
        either complete (as a run's ``recipe.yaml`` is) or names a packaged recipe under ``base``
        and holds only what differs.
    scale
        ``paper``, ``cpu`` (minutes on two cores) or ``smoke`` (seconds).
    overrides
        ``key=value`` with dots for nesting and YAML for values: ``optimizer.base_lr=0.5``. Another
        ``name`` for the backbone, method or optimiser clears the rest of that section.
    default_scale
        The scale where neither the call nor the file says; commands take ``cpu``.

    Examples
    --------
    >>> recipe = load_recipe("cifar100/sag-vicreg", overrides=["method.k=7"])
    >>> recipe.method.k, recipe.schedule.epochs, recipe.optimizer.name
    (7, 500, 'lars')
    """
    name = str(source)
    if Path(name).suffix in (".yaml", ".yml"):
        content = _read_file(Path(name), scale, default_scale)
    else:
        content = packaged_recipe(name, scale or default_scale)
    # Together, so that their order does not matter: a new name clears only what was there before.
    changes: dict[str, Any] = reduce(merge, map(_parse_override, overrides), {})
    if "scale" in changes:
        raise InputError(
            f"scale cannot be overridden, since it decides many others: use scale "
            f"{changes['scale']} instead, on the command line --scale {changes['scale']}"
        )
    content = _lay_over(content, changes)
    try:
        return Recipe.model_validate(content)
    except ValidationError as error:
        problem = one_line(error, Recipe)
        if problem.startswith("unknown "):
            problem += _other_packages(content.get("versions"))
        raise InputError(f"recipe {name}: {problem}") from None


def _other_packages(versions: Any) -> str:
    """Say which packages brought the method or the dataset of a run: they may be missing here."""
    noted = versions if isinstance(versions, dict) else {}
    others = ", ".join(str(name) for name in noted if name not in VERSIONED)
    return f"; it was trained with {others}: install that" if others else ""


def _read_file(path: Path, scale: str | None, default_scale: str) -> dict[str, Any]:
    with open_file(path, RECIPE) as file:
        content = parse_yaml(file.read().decode())
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a recipe: it must be a mapping of sections")
    base = content.pop("base", None)
    if base is None:
        if scale is not None and scale != content.get("scale"):
            raise InputError(
                f"{path} is a complete recipe, so scale {scale} has nothing to change: "
                "leave the scale out or override keys"
            )
        return content
    scale = str(scale or content.get("scale") or default_scale)
    return _lay_over(packaged_recipe(str(base), scale), content | {"scale": scale})


def _lay_over(content: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge a user's keys; a section that gets another name starts afresh.

    LARS's momentum means nothing to AdamW, nor one backbone's arguments to another. Another
    dataset or method is another recipe, and is called so.
    """
    subject = _subject(content)
    for section in ("backbone", "method", "optimizer"):
        asked, had = over.get(section), content.get(section)
        if isinstance(asked, dict) and isinstance(had, dict) and "name" in asked:
            content = content | {section: had if asked["name"] == had.get("name") else {}}
    merged = merge(content, over)
    if "name" not in over and _subject(merged) != subject:
        merged["name"] = "/".join(map(str, _subject(merged)))
    return merged


def _subject(content: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a recipe is named after: its dataset and its method."""
    sections = (content.get("dataset"), content.get("method"))
    return tuple(section.get("name") for section in sections if isinstance(section, dict))


def _parse_override(override: str) -> dict[str, Any]:
    key, equals, value = override.partition("=")
    if not equals or not all(key.split(".")):
        raise InputError(
            f"cannot read the override '{override}': write key=value, as optimizer.base_lr=0.5"
        )
    content = parse_option(value, f"the value of '{override}'")
    for part in reversed(key.split(".")):
        content = {part: content}
    result: dict[str, Any] = content
    return result

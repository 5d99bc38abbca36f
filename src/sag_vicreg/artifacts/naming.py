"""Display names for any list of sources: short, and no two alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sag_vicreg.errors import visible

if TYPE_CHECKING:  # recipes take a sixth of what a small comparison takes, and files have none
    from sag_vicreg.recipes import Recipe


@dataclass(frozen=True)
class Source:
    """A file or a run folder to be named.

    Attributes
    ----------
    path
        Where it is.
    recipe
        That of a run.
    given
        What the user calls it: kept as it is.
    """

    path: Path
    recipe: "Recipe | None" = None
    given: str | None = None


def distinct_names(sources: Sequence[Source]) -> tuple[str, ...]:
    """Name sources by what tells them apart.

    A run by its method and what differs between the runs' recipes: dataset, classes, scale, seed.
    A file by its name, with as much of its path as it needs. What a user named keeps its name.

    Examples
    --------
    >>> distinct_names([Source(Path("x/old.npy")), Source(Path("x/new.npy"))])
    ('old.npy', 'new.npy')
    >>> distinct_names([Source(Path("x/test.npy")), Source(Path("y/test.npy"))])
    ('x/test.npy', 'y/test.npy')
    """
    names = [visible(_short_name(source, sources)) for source in sources]
    once: list[str] = []
    for source, name in zip(sources, names, strict=True):
        if source.given is None and names.count(name) > 1:
            where = visible(str(source.path))
            name = f"{name} ({where})" if source.recipe is not None else where
        once.append(name)
    # One path given twice is told apart by its place.
    return tuple(
        f"{name} ({place})" if once.count(name) > 1 and source.given is None else name
        for place, (name, source) in enumerate(zip(once, sources, strict=True), start=1)
    )


def _short_name(source: Source, among: Sequence[Source]) -> str:
    """Return what a source is called where no other is called so."""
    if source.given is not None:
        return source.given
    if source.recipe is None:
        return _shortest(source.path, [each.path for each in among if each.recipe is None])
    return _by_recipe(source.recipe, [each.recipe for each in among if each.recipe is not None])


def _by_recipe(recipe: "Recipe", among: "Sequence[Recipe]") -> str:
    parts = [recipe.method.title()]
    if len({each.dataset.name for each in among}) > 1:
        parts.append(recipe.dataset.name)
    if len({str(each.dataset.classes) for each in among}) > 1:
        halved = recipe.dataset.classes in ("first", "second")
        parts.append(f"{recipe.dataset.classes} half" if halved else "all classes")
    if len({each.scale for each in among}) > 1:
        parts.append(recipe.scale)
    if len({each.seed for each in among}) > 1:
        parts.append(f"seed {recipe.seed}")
    return ", ".join(parts)


def _shortest(path: Path, among: Sequence[Path]) -> str:
    """Return the end of the path, as long as tells it from the others."""
    for parts in range(1, len(path.parts) + 1):
        if sum(other.parts[-parts:] == path.parts[-parts:] for other in among) == 1:
            return str(Path(*path.parts[-parts:]))
    return str(path)

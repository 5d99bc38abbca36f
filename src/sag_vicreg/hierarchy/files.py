"""Class trees from CSV files: the packaged ones by name, anybody's own by path."""

from importlib import resources
from pathlib import Path

from sag_vicreg.door import Kind, read_csv
from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.hierarchy.tree import Hierarchy

HIERARCHY = Kind("a class tree in CSV", "write one line of class,path per class")
_TREES = resources.files("sag_vicreg.hierarchy") / "trees"


def hierarchy_names() -> tuple[str, ...]:
    """Names of the packaged trees."""
    return tuple(sorted(entry.name.removesuffix(".csv") for entry in _TREES.iterdir()))


def load_hierarchy(name_or_path: str | Path) -> Hierarchy:
    """Load a packaged tree by name or any tree from a CSV file.

    The file has a header ``class,path`` and one line per class, in label order. The path holds
    the class's groups from coarse to fine, separated by ``/``, and ends in the class itself; where
    no path of the file does, the class is added as the finest level. Other columns are ignored.

    Examples
    --------
    >>> tree = load_hierarchy("cifar100")
    >>> [len(tree.names_at(level)) for level in tree.levels]
    [3, 7, 20, 100]
    """
    path = Path(name_or_path)
    if path.suffix.lower() == ".csv":
        return read_csv(path, HIERARCHY, _parse)
    name = str(name_or_path)
    if name not in hierarchy_names():
        raise unknown_name("hierarchy", name, [*hierarchy_names(), "the path of a .csv file"])
    with resources.as_file(_TREES / f"{name}.csv") as packaged:
        return read_csv(packaged, HIERARCHY, _parse)


def _parse(header: list[str], rows: list[list[str]]) -> Hierarchy:
    columns = [column.strip().lower() for column in header]
    if not {"class", "path"} <= set(columns):
        raise InputError(
            f"the first line must be 'class,path', found {', '.join(header) or 'nothing'}"
        )
    # A row may end early.
    cells = [dict.fromkeys(columns, "") | dict(zip(columns, row, strict=False)) for row in rows]
    classes = [row["class"].strip() for row in cells]
    paths = [tuple(part.strip() for part in row["path"].split("/")) for row in cells]
    if not any(path[-1] == name for name, path in zip(classes, paths, strict=True)):
        paths = [(*path, name) for name, path in zip(classes, paths, strict=True)]
    for name, path in zip(classes, paths, strict=True):
        if path[-1] != name:
            raise InputError(f"the path of class '{name}' ends in '{path[-1]}' instead")
    return Hierarchy(tuple(paths))

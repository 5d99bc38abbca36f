"""Class trees from CSV files: the packaged ones by name, anybody's own by path."""

import csv
import io
from importlib import resources
from pathlib import Path

from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.hierarchy.tree import Hierarchy

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
    >>> [len(tree.names_at(level)) for level in range(1, tree.n_levels + 1)]
    [3, 7, 20, 100]
    """
    path = Path(name_or_path)
    if path.suffix.lower() == ".csv":
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise InputError(f"cannot read the hierarchy {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"the hierarchy {path} is not UTF-8 text: {error.reason}") from error
        return _parse(text, str(path))
    name = str(name_or_path)
    if name not in hierarchy_names():
        raise unknown_name("hierarchy", name, [*hierarchy_names(), "the path of a .csv file"])
    return _parse((_TREES / f"{name}.csv").read_text(encoding="utf-8"), name)


def _parse(text: str, source: str) -> Hierarchy:
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = {column.strip().lower(): column for column in rows.fieldnames or ()}
    if not {"class", "path"} <= columns.keys():
        found = ", ".join(rows.fieldnames or ()) or "nothing"
        raise InputError(f"{source}: the first line must be 'class,path', found {found}")
    classes, paths = [], []
    for row in rows:
        # csv fills a short line with None.
        classes.append((row[columns["class"]] or "").strip())
        paths.append(tuple(part.strip() for part in (row[columns["path"]] or "").split("/")))
    if not any(path[-1] == name for name, path in zip(classes, paths, strict=True)):
        paths = [(*path, name) for name, path in zip(classes, paths, strict=True)]
    try:
        for name, path in zip(classes, paths, strict=True):
            if path[-1] != name:
                raise InputError(f"the path of class '{name}' ends in '{path[-1]}' instead")
        return Hierarchy(tuple(paths))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None

"""Caltech-256 (Griffin, Holub and Perona, 2007), clutter left out as in the paper."""

from sag_vicreg.data.sources.folders import class_folders
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.errors import InputError

FOLDER = "256_ObjectCategories"
CLUTTER = "257.clutter"


def load_caltech256(request: Request) -> Records:
    """Load the 256 object categories; the split is a seeded 80/20 of every class."""
    folder = request.path / FOLDER
    if not folder.is_dir():
        raise InputError(f"{request.path} holds no Caltech-256: expected a folder {FOLDER} in it")
    classes = sorted(
        entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name != CLUTTER
    )
    wanted = {f"{number:03d}" for number in range(1, 257)}
    missing = sorted(wanted - {name.partition(".")[0] for name in classes})
    if missing or len(classes) != len(wanted):
        what = f"lacks categories {', '.join(missing[:5])}" if missing else "has extra categories"
        raise InputError(f"{folder} holds {len(classes)} of 256 categories and {what}")
    return class_folders(folder, classes=classes).split_by_seed(request)

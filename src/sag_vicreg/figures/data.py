"""What a figure is drawn from, as a file of arrays: drawn again anywhere, without the models."""

import zipfile
from abc import ABC, abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import Any, Self, get_type_hints

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.artifacts import atomic_path
from sag_vicreg.door import Kind, check_memory, open_file
from sag_vicreg.errors import InputError

SUFFIX = ".npz"
# The array that names the figure.
_MARK = "figure"
_KIND = Kind("the data of such a figure", "draw it again from run folders", 1 << 28)


def check_keepable(path: Path) -> None:
    """Refuse to keep a figure's data in place of a file that holds anything else."""
    if not path.exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{_MARK}.npy" in archive.namelist():
                return
    except (OSError, zipfile.BadZipFile):
        pass
    raise InputError(
        f"cannot keep the figure's data in {path}: another file has this name; draw to another name"
    )


class FigureData(ABC):
    """Base of the dataclasses that hold what one figure shows, and draw it.

    Every field is an array, a text or a number, annotated with NumPy's letter of its kind and the
    names of its axes: ``Annotated[NDArray[np.uint8], "u", "n h w 3"]``. Axes of one name have one
    size, axes named by a number that size.
    """

    @abstractmethod
    def draw(self) -> Figure:
        """Draw the figure."""

    def write(self, path: Path) -> None:
        """Keep the data at ``path``."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **{_MARK: type(self).__name__, **arrays})

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what :meth:`write` has kept; a file that holds anything else is refused."""
        with open_file(path, _KIND) as file, zipfile.ZipFile(file) as archive:
            check_memory(sum(member.file_size for member in archive.infolist()))
            file.seek(0)
            arrays = dict(np.load(file, allow_pickle=False))
            _check(arrays, cls.__name__, get_type_hints(cls, include_extras=True))
        return cls(**{name: a if a.ndim else a.item() for name, a in arrays.items()})


def _check(arrays: dict[str, NDArray[Any]], figure: str, hints: dict[str, Any]) -> None:
    if str(arrays.pop(_MARK, "")) != figure or arrays.keys() != hints.keys():
        raise ValueError(f"it is of another figure than {figure}")
    sizes = {"2": 2, "3": 3, "4": 4}
    for name, array in arrays.items():
        kind, axes = hints[name].__metadata__
        names, shape = axes.split(), array.shape
        fits = array.dtype.kind == kind and len(names) == len(shape)
        if not fits or any(
            sizes.setdefault(*axis) != axis[1] for axis in zip(names, shape, strict=True)
        ):
            raise ValueError(f"{name} has shape {shape} of {array.dtype}")

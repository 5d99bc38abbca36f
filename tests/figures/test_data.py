"""What a figure is drawn from survives its file; what is anything else is refused in one line."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.figures.data import FigureData, check_keepable
from sag_vicreg.figures.separability import Separability, separability
from sag_vicreg.reproduce.drawings import FigureSources, draw_figure


@dataclass(frozen=True)
class Dots(FigureData):
    places: Annotated[NDArray[np.floating], "f", "n 2"]
    names: Annotated[NDArray[np.str_], "U", "n"]
    title: Annotated[str, "U", ""]
    count: Annotated[int, "i", ""]

    def draw(self) -> Figure:
        return Figure()


GOOD = {
    "figure": "Dots",
    "places": np.eye(2),
    "names": np.array(["a", "b"]),
    "title": "two — dots",
    "count": 2,
}


def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "dots.npz"
    Dots(np.eye(2), np.array(["ä", "b"]), "two — dots", 2).write(path)
    read = Dots.read(path)
    np.testing.assert_array_equal(read.places, np.eye(2))
    assert (read.names.tolist(), read.title, read.count) == (["ä", "b"], "two — dots", 2)
    assert type(read.title) is str
    assert type(read.count) is int


def test_figure_5_comes_back_as_it_was(tmp_path: Path) -> None:
    shown = separability()
    shown.write(tmp_path / "five.npz")
    read = Separability.read(tmp_path / "five.npz")
    for field in fields(Separability):
        np.testing.assert_array_equal(getattr(read, field.name), getattr(shown, field.name))


@pytest.mark.parametrize(
    "changed",
    [
        {"figure": "ImagePairs"},
        {"places": np.ones((2, 3))},
        {"places": np.ones((3, 2))},
        {"places": np.ones(2)},
        {"places": np.array([["a", "b"]] * 2)},
        {"names": np.array([1, 2])},
        {"count": 2.5},
        {"more": 1},
        {"title": None},
    ],
)
def test_arrays_of_another_kind_or_shape_are_refused(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    path = tmp_path / "dots.npz"
    content = {name: value for name, value in (GOOD | changed).items() if value is not None}
    np.savez(path, **content)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is not the data of such a figure"):
        Dots.read(path)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "dots.npz"
    with pytest.raises(InputError, match="no such file"):
        Dots.read(path)
    np.savez_compressed(path, **GOOD)  # type: ignore[arg-type]
    whole = path.read_bytes()
    pickled = np.array([{"a": 1}], dtype=object)
    for content in (
        b"",
        b"nonsense",
        whole[: len(whole) // 2],
        whole[:80] + bytes(40) + whole[120:],
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is not the data|it is empty"):
            Dots.read(path)
    np.savez(path, **(GOOD | {"places": pickled}))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"is not the data|it is empty"):
        Dots.read(path)
    with path.open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(InputError, match=r"is not the data|it is empty"):
        Dots.read(path)


def test_data_replaces_only_data(tmp_path: Path) -> None:
    kept = tmp_path / "dots.npz"
    check_keepable(kept)
    Dots(np.eye(2), np.array(["a", "b"]), "", 2).write(kept)
    check_keepable(kept)
    np.savez(tmp_path / "mine.npz", vectors=np.eye(3))
    (tmp_path / "text.npz").write_text("mine")
    for other in ("mine.npz", "text.npz"):
        with pytest.raises(InputError, match=f"{other}: another file has this name"):
            check_keepable(tmp_path / other)
    with pytest.raises(InputError, match="another file has this name"):
        draw_figure("separability", FigureSources(), keep=tmp_path / "mine.npz")

"""``sag-vicreg datasets``, as a user types it."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sag_vicreg.cli import app
from sag_vicreg.data.samples import sample_images_and_views
from sag_vicreg.errors import InputError
from sag_vicreg.figures.contact_sheet import draw_contact_sheet


def test_the_list_says_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "caltech256" / "256_ObjectCategories" / "001.ak47").mkdir(parents=True)
    done = CliRunner().invoke(app, ["datasets", "--root", str(tmp_path), "--json"])
    assert done.exit_code == 0
    found = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert found["shapes"] == found["shapes"] | {"where": "built in", "problem": None}
    assert "1 of 256 categories" in found["caltech256"]["problem"]
    assert "holds no CIFAR-100" in found["cifar100"]["problem"]
    plain = CliRunner().invoke(app, ["datasets", "--root", str(tmp_path)])
    assert all(name in plain.stdout for name in ("shapes", "folder:PATH", "categories"))


@pytest.mark.parametrize("views", ["vicreg", "dino", "crop"])
def test_show_draws_a_sheet(tmp_path: Path, views: str) -> None:
    out = tmp_path / "sheet.png"
    arguments = ["datasets", "show", "shapes", "--split", "test", "--rows", "3", "--columns", "2"]
    done = CliRunner().invoke(app, [*arguments, "--views", views, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == f"wrote {out}"
    with Image.open(out) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    assert pixels.shape[1] > 500
    # Not an empty page: many colours, much of it not white.
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 1000
    assert (pixels < 250).any(axis=2).mean() > 0.15


def test_samples_are_of_their_classes_and_seeded() -> None:
    names, groups = sample_images_and_views("digits", split="test", rows=4, columns=5)
    assert names == ["0", "3", "6", "9"]
    images, views = groups.values()
    assert [len(row) for row in images] == [5] * 4
    assert [len(row) for row in views] == [6] * 4
    again = sample_images_and_views("digits", split="test", rows=4, columns=5)[1]
    for group, same in zip(groups.values(), again.values(), strict=True):
        for row, same_row in zip(group, same, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(row, same_row, strict=True))
    other = sample_images_and_views("digits", split="test", rows=4, columns=5, seed=1)[1]
    assert not np.array_equal(other["images"][0][0], groups["images"][0][0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "shape", "--out", "x.png"], "did you mean 'shapes'"),
        (["show", "shapes", "--out", "x.gif"], "must end in .png, .svg, .pdf"),
        (["show", "shapes", "--views", "vicrek", "--out", "x.png"], "did you mean 'vicreg'"),
        (["download", "imagenet", "--root", "."], "imagenet cannot be downloaded from here"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["datasets", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_sheet_takes_images_of_any_size(tmp_path: Path) -> None:
    sizes = [(8, 8), (4, 4), (30, 20)]
    images = [np.full((*size, 3), 90, dtype=np.uint8) for size in sizes]
    draw_contact_sheet(["one", "two"], {"all": [images, images[:1]]}, tmp_path / "sheet.svg")
    assert (tmp_path / "sheet.svg").read_text().count("<image") == 1
    with pytest.raises(InputError, match="must end in"):
        draw_contact_sheet(["one"], {"all": [images]}, tmp_path / "sheet.bmp")

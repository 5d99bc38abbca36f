"""Thumbnails beside embeddings show the images that were embedded, and no others."""

import io
from pathlib import Path

from PIL import Image

from sag_vicreg.artifacts import Run, read_thumbnails
from sag_vicreg.training import embed


def test_thumbnails_follow_images_that_change_under_their_name(
    finished: Run, tmp_path: Path
) -> None:
    out = tmp_path / "e.parquet"
    for colour in ("red", "blue"):
        for name in ("a", "b"):
            path = tmp_path / "pictures" / name / "1.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), colour).save(path)
        embed(finished.folder, dataset=f"folder:{tmp_path / 'pictures'}", split="all", out=out)
    for data in read_thumbnails(tmp_path / "thumbnails.parquet").values():
        red, _, blue = Image.open(io.BytesIO(data)).convert("RGB").getpixel((16, 16))
        assert (red < 50, blue > 200) == (True, True)


def test_pictures_of_two_datasets_keep_apart_though_their_ids_are_alike(
    finished: Run, tmp_path: Path
) -> None:
    names = {}
    for colour in ("red", "blue"):
        path = tmp_path / colour / "a" / "1.png"
        path.parent.mkdir(parents=True)
        Image.new("RGB", (32, 32), colour).save(path)
        names[colour] = f"folder:{tmp_path / colour}"
        embed(
            finished.folder,
            dataset=names[colour],
            split="all",
            out=tmp_path / f"{colour}.parquet",
        )
    for place, name in enumerate(("red", "blue")):
        (data,) = read_thumbnails(tmp_path / "thumbnails.parquet", dataset=names[name]).values()
        pixel = Image.open(io.BytesIO(data)).convert("RGB").getpixel((16, 16))
        assert pixel[2 * place] > 200, name
        assert pixel[2 - 2 * place] < 50, name

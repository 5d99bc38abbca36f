"""Thumbnails packed into atlases: each where it says, all within the budget."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from made_runs import webp
from sag_vicreg.artifacts import read_thumbnails
from sag_vicreg.report import build_report
from sag_vicreg.report.atlas import build_atlas


def test_an_atlas_holds_each_thumbnail_where_it_says() -> None:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 255, size=(70, 1, 1, 3), dtype=np.uint8)
    ids = [str(i) for i in range(70)]
    atlas = build_atlas(dict(zip(ids, map(webp, pixels), strict=True)), [*ids[::-1], "none"])
    assert atlas is not None
    assert atlas.tiles[-1] == -1
    sheets = [np.array(Image.open(io.BytesIO(image))) for image in atlas.images]
    side = sheets[0].shape[1] // atlas.columns
    for i in range(70):
        sheet, place = divmod(int(atlas.tiles[i]), atlas.columns**2)
        row, column = divmod(place, atlas.columns)
        tile = sheets[sheet][row * side : (row + 1) * side, column * side : (column + 1) * side]
        expected = pixels[69 - i].reshape(3).astype(float)
        assert np.abs(tile.mean(axis=(0, 1)) - expected).max() < 12


def test_one_atlas_costs_less_than_half_of_single_files() -> None:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 255, size=(2000, 3, 3, 3), dtype=np.uint8)
    single = {str(i): webp(image) for i, image in enumerate(pixels)}
    atlas = build_atlas(single, list(single))
    assert atlas is not None
    assert sum(map(len, atlas.images)) < sum(map(len, single.values())) / 2


def test_an_atlas_over_its_budget_is_of_lower_quality() -> None:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 255, size=(200, 8, 8, 3), dtype=np.uint8)
    single = {str(i): webp(image) for i, image in enumerate(pixels)}
    whole, tight = (build_atlas(single, list(single), byte_budget=b) for b in (10**8, 1))
    assert whole is not None
    assert tight is not None
    assert sum(map(len, tight.images)) < sum(map(len, whole.images))
    np.testing.assert_array_equal(tight.tiles, whole.tiles)


@pytest.mark.usefixtures("quick_maps")
def test_thumbnails_survive_the_way_to_the_page(four_runs: Path, tmp_path: Path) -> None:
    stored = read_thumbnails(four_runs / "vicreg-first" / "embeddings" / "thumbnails.parquet")
    page = build_report([four_runs / "vicreg-first"], tmp_path / "r.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["points"]["ids"]) == len(stored)
    assert data["thumbnails"]["columns"] ** 2 >= len(stored)

"""Which rows a page shows, how they find each other, and what they are called."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_pages import text_of, visible
from made_runs import TREE, embedded_images, write_run
from sag_vicreg.artifacts import ColumnNames, Embeddings, Run, write_embeddings
from sag_vicreg.errors import InputError
from sag_vicreg.report.points import Points, gather_points
from sag_vicreg.report.sources import open_sources

pytestmark = pytest.mark.usefixtures("quick_maps")


def test_rows_are_matched_by_id_whatever_their_order(tmp_path: Path) -> None:
    whole = embedded_images(0.3, 0, per_class=3)
    write_embeddings(tmp_path / "a.parquet", whole)
    shuffled = np.random.default_rng(0).permutation(len(whole))[:100]
    write_embeddings(tmp_path / "b.parquet", whole.take(shuffled))
    models = open_sources([tmp_path / "a.parquet", tmp_path / "b.parquet"]).models
    with pytest.raises(InputError, match=r"is missing from .*--join inner"):
        gather_points(models)
    points = gather_points(models, how="inner")
    assert points is not None
    assert len(points) == 100
    assert points.left_out == len(whole) - 100
    assert not points.by_position
    np.testing.assert_array_equal(points.vectors[0], points.vectors[1])


def test_columns_are_told_once_for_each_file_and_not_for_runs(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "vicreg", "all", images=False)
    table = pq.read_table(Run(run).embedding_files()[0].path)
    renamed = table.rename_columns(["key", "class", "old"])
    pq.write_table(renamed.append_column("new", table["vector"]), tmp_path / "a.parquet")
    said = ColumnNames(vector_columns="old", id_column="key")
    found = open_sources([tmp_path / "run", tmp_path / "a.parquet"], [said, said])
    points = gather_points(found.models)
    assert points is not None
    assert not points.by_position
    np.testing.assert_array_equal(points.vectors[0], points.vectors[1])


def test_every_id_that_some_model_lacks_is_counted(tmp_path: Path) -> None:
    whole = embedded_images(0.3, 0, per_class=2).take(slice(0, 30))
    write_embeddings(tmp_path / "a.parquet", whole.take(slice(0, 20)))
    write_embeddings(tmp_path / "b.parquet", whole.take(slice(10, 30)))
    page = text_of(tmp_path / "a.parquet", tmp_path / "b.parquet", join="inner")
    assert "20 rows whose id not every model has are left out." in page


def test_rows_matched_by_position_are_said_to_be(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    write_embeddings(tmp_path / "a.parquet", source)
    for name in "bc":
        np.save(tmp_path / f"{name}.npy", source.vectors)
    notice = "Only some of the files have ids: rows were matched by position."
    assert notice in text_of(tmp_path / "b.npy", tmp_path / "a.parquet")
    assert notice not in text_of(tmp_path / "b.npy", tmp_path / "c.npy")


def test_a_sample_takes_the_classes_in_turn() -> None:
    labels = np.repeat([0, 1, 2], [50, 5, 20])
    points = Points((), "", (np.zeros((75, 2)),), None, ("a", "b", "c"), labels, (), 0)
    rows = points.sample(20, seed=0)
    # All five of the small class, and the other two in turn.
    assert sorted(np.bincount(labels[rows]).tolist()) == [5, 7, 8]
    assert (np.diff(rows) > 0).all()
    assert points.sample(75, seed=0).tolist() == list(range(75))


def test_levels_hold_only_the_groups_that_occur(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "a.parquet", embedded_images(0.3, 0, per_class=3, classes=4))
    points = gather_points(open_sources([tmp_path / "a.parquet"]).models, hierarchy="shapes")
    assert points is not None
    assert points.classes == TREE.classes[:4]
    assert [len(level.names) for level in points.levels] == [
        len(set(TREE.labels_at(level)[:4])) for level in range(1, TREE.n_levels + 1)
    ]


def test_without_labels_ids_or_images_the_page_shows_what_it_can(tmp_path: Path) -> None:
    vectors = embedded_images(0.3, 0, per_class=2).vectors
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", vectors)
    page = text_of(tmp_path / "a.npy", tmp_path / "b.npy")
    assert "no labels" in page
    assert 'id="tree-plot"' in page
    assert 'id="query-class"' not in page
    assert 'id="level"' not in page
    assert 'class="toolbar"' not in page


def test_rows_that_are_no_images_are_called_rows(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", source.vectors)
        write_embeddings(tmp_path / f"{name}.parquet", source)
    for kind in ("npy", "parquet"):
        files = [tmp_path / f"{name}.{kind}" for name in "ab"]
        page = text_of(*files, max_points=50, half_samples=2, commands=["make"])
        text = visible(page)
        assert "image" not in text.lower()
        assert "thumbnail" not in text
        assert "50 of 96 rows" in text
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        assert data["noun"] == "row"
    assert ", spread evenly over the classes;" in text
    assert "Rows</p>" in text_of(tmp_path / "a.npy")


def test_rows_of_a_run_or_with_thumbnails_are_images(four_runs: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "vicreg", "all", images=False)
    text = visible(text_of(run))
    assert "There are no thumbnails" in text
    assert "<span>Images</span>" in text
    embeddings = four_runs / "vicreg-first" / "embeddings"
    for name in ("shapes-test", "thumbnails"):
        path = embeddings / f"{name}.parquet"
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = visible(text_of(tmp_path / "shapes-test.parquet"))
    assert "One model embeds 288 images" in text
    assert "thumbnails" not in text
    assert 'class="toolbar"' in text


def test_a_hierarchy_that_does_not_fit_is_refused_only_when_asked_for(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2, classes=5)
    renamed = Embeddings(source.vectors, source.ids, np.repeat(list("abcde"), 2))
    write_embeddings(tmp_path / "a.parquet", renamed)
    with pytest.raises(InputError, match="not in the hierarchy"):
        text_of(tmp_path / "a.parquet", hierarchy="shapes")
    assert "Class (5)" in text_of(tmp_path / "a.parquet")

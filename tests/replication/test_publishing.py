"""What is published of finished models: float16 files that say what they are, under a limit."""

from pathlib import Path

import numpy as np
import pytest

from made_results import (
    FIVE,
    embeddings,
    pretend_trained,
    repository,
    result_of,
    structure_of_shapes,
)
from replication.publishing import LIMIT, publish_embeddings, publish_results
from sag_vicreg.artifacts import read_embeddings, read_metadata, read_results
from sag_vicreg.reproduce import Store
from sag_vicreg.reproduce.embedding import known_embeddings, published_file

PLANNED = structure_of_shapes()
RESULT = result_of(PLANNED, dict.fromkeys(FIVE, 0.25))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The two models of `PLANNED`, as if trained."""
    store = Store(tmp_path / "out", (repository(tmp_path),))
    for seed, recipe in enumerate(PLANNED.recipes):
        pretend_trained(recipe, store, PLANNED.images, embeddings(seed, n=400))
    return store


def test_a_file_holds_half_precision_and_says_what_it_is(store: Store) -> None:
    (folder,) = store.embedding_folders
    publish_embeddings([RESULT], store, folder)
    first, second = PLANNED.recipes
    assert len(list(folder.iterdir())) == 2
    path = published_file(folder, first, PLANNED.images)
    assert path.name == f"{first.digest()}-shapes-test-first.parquet"
    read = read_embeddings(path)
    made = embeddings(0, n=400)
    assert read.vectors.dtype == np.float16
    np.testing.assert_array_equal(read.vectors, made.vectors.astype(np.float16))
    np.testing.assert_array_equal(read.ids, made.ids)  # type: ignore[arg-type]
    np.testing.assert_array_equal(read.labels, made.labels)  # type: ignore[arg-type]
    assert read_metadata(path) == {
        "dataset": "shapes",
        "split": "test",
        "classes": "first",
        "seed": "0",
        "model": first.digest(),
        "recipe": "shapes/vicreg",
        "model_seed": "0",
    }
    assert read_metadata(published_file(folder, second, PLANNED.images))["model"] == second.digest()


def test_what_is_published_is_found_without_the_model(store: Store, tmp_path: Path) -> None:
    (folder,) = store.embedding_folders
    publish_embeddings([RESULT], store, folder)
    elsewhere = Store(tmp_path / "elsewhere", store.published)
    found = known_embeddings(PLANNED.recipes[1], PLANNED.images, elsewhere)
    assert found is not None
    np.testing.assert_array_equal(found.vectors, embeddings(1, n=400).vectors.astype(np.float16))
    assert known_embeddings(structure_of_shapes("simclr").recipes[0], PLANNED.images, store) is None


def test_the_limit_is_kept_and_what_is_left_out_is_named(store: Store) -> None:
    (folder,) = store.embedding_folders
    publish_embeddings([RESULT], store, folder)
    paths = [published_file(folder, recipe, PLANNED.images) for recipe in PLANNED.recipes]
    size = paths[0].stat().st_size
    paths[1].unlink()
    said: list[str] = []
    publish_embeddings([RESULT], store, folder, limit=size + 100, note=said.append)
    assert [path.is_file() for path in paths] == [True, False]
    assert len(said) == 1
    assert said[0].startswith(f"not published: {paths[1].name};")
    assert f"more than {size + 100:,}" in said[0]
    assert [path.name for path in folder.iterdir()] == [paths[0].name], "no part of a file is left"
    publish_embeddings([RESULT], store, folder, note=said.append)
    assert paths[1].is_file()
    assert LIMIT == 60_000_000


def test_models_that_are_not_there_are_passed_over(store: Store, tmp_path: Path) -> None:
    (folder,) = store.embedding_folders
    other = result_of(structure_of_shapes("simclr"), dict.fromkeys(FIVE, 0.2))
    publish_embeddings([other], store, folder)
    assert not folder.exists()


def test_results_are_published_once_and_again_with_their_forest(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    publish_results([RESULT], folder)
    (path,) = folder.iterdir()
    stamp = path.stat().st_mtime_ns
    publish_results([RESULT], folder)
    assert path.stat().st_mtime_ns == stamp
    completed = RESULT.with_forest({"forest.spearman": 0.7}, {"trees": 100})
    publish_results([completed], folder)
    assert list(folder.iterdir()) == [path], "under the same name"
    assert read_results([folder]) == {RESULT.key: completed}

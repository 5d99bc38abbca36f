"""The forest beside a structure result: from models, from published files, and to old results."""

from dataclasses import replace
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
from replication.publishing import publish_embeddings
from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.reproduce import Store, outline
from sag_vicreg.reproduce.embedding import published_file
from sag_vicreg.reproduce.forests import complete_forests, forest_scores, lacks_forest
from sag_vicreg.reproduce.plan import OPTIONS, evaluation_of
from sag_vicreg.structure import compare

PLANNED = structure_of_shapes()
FOREST = OPTIONS["structure"]["forest"]
OLD = result_of(PLANNED, dict.fromkeys(FIVE, 0.25))


def scores_of(first: Embeddings, second: Embeddings) -> dict[str, float]:
    return forest_scores(first, second, geometry="cosine", forest=FOREST)


def test_scores_are_those_of_compare_on_rounded_vectors() -> None:
    first, second = embeddings(0), embeddings(1)
    found = scores_of(first, second)
    rounded = [each.vectors.astype(np.float16) for each in (first, second)]
    expected = compare(*rounded, trees=100).forest
    assert expected is not None
    assert found["forest.spearman"] == expected.spearman
    assert (found["forest.low"], found["forest.high"]) == expected.interval
    assert found["forest.shared.kendall"] == expected.shared.kendall
    assert found["forest.reliability.second"] == expected.reliability[1]
    assert found["forest.error"] == expected.error


def test_images_are_matched_by_id() -> None:
    first, second = embeddings(0), embeddings(1)
    shuffled = second.take(np.random.default_rng(3).permutation(len(second)))
    assert scores_of(first, shuffled) == scores_of(first, second)


def test_a_handful_of_images_has_no_forest() -> None:
    few = embeddings(0, n=30)
    assert scores_of(few, few) == {}


def test_published_embeddings_give_an_old_result_its_forest_without_a_model(
    tmp_path: Path,
) -> None:
    # Here the models are; they publish their embeddings.
    published = repository(tmp_path)
    here = Store(tmp_path / "here", (published,))
    made = [embeddings(seed) for seed in (0, 1)]
    for recipe, each in zip(PLANNED.recipes, made, strict=True):
        pretend_trained(recipe, here, PLANNED.images, each)
    publish_embeddings([OLD], here, published.parent / "embeddings")
    OLD.write(published)
    # Elsewhere there are none.
    elsewhere = Store(tmp_path / "elsewhere", (published,))
    assert lacks_forest(PLANNED, elsewhere.results()[PLANNED.key])
    said: list[str] = []
    complete_forests([PLANNED, PLANNED], elsewhere, said.append)
    assert said == ["done: forest of structure of shapes/vicreg seed 0"]
    assert not (tmp_path / "elsewhere" / "models").exists()
    found = elsewhere.results()[PLANNED.key]
    # To the last digit what the models themselves give, and the rest as it was.
    assert found.scores == {**OLD.scores, **scores_of(*made)}
    assert found.half_samples == OLD.half_samples
    assert found.key == evaluation_of(found).key == OLD.key
    assert not lacks_forest(PLANNED, found)
    complete_forests([PLANNED], elsewhere, said.append)
    assert len(said) == 1, "and not again"


def test_without_embeddings_an_old_result_stays_valid_and_nothing_is_trained(
    tmp_path: Path,
) -> None:
    published = repository(tmp_path)
    OLD.write(published)
    store = Store(tmp_path / "out", (published,))
    complete_forests([PLANNED], store)
    assert store.results() == {OLD.key: OLD}
    todo = outline([PLANNED], store)
    assert not todo.to_evaluate
    assert not todo.to_train
    # One model of the two is not enough either.
    folder = published.parent / "embeddings"
    path = published_file(folder, PLANNED.recipes[0], PLANNED.images)
    write_embeddings(path, embeddings(0), half_precision=True)
    complete_forests([PLANNED], store)
    assert store.results() == {OLD.key: OLD}


def test_embeddings_of_another_training_of_the_same_recipe_are_left_alone(tmp_path: Path) -> None:
    published = repository(tmp_path)
    store = Store(tmp_path / "out", (published,))
    for seed, recipe in enumerate(PLANNED.recipes):
        pretend_trained(recipe, store, PLANNED.images, embeddings(seed))
    old = replace(OLD, measures=[{"knn": 0.2145}, {"knn": 0.2315}])
    old.write(published)
    again = replace(PLANNED, options=PLANNED.options | {"half_samples": 20})
    anew = replace(result_of(again, dict.fromkeys(FIVE, 0.25)), measures=[{"knn": 0.22}, {}])
    anew.write(published)
    complete_forests([PLANNED], store)
    assert store.results()[OLD.key] == old
    # What was measured on the same training is of the same models.
    replace(anew, measures=old.measures).write(published)
    complete_forests([PLANNED], store)
    assert "forest.spearman" in store.results()[OLD.key].scores


def test_a_forest_of_other_settings_is_grown_anew(tmp_path: Path) -> None:
    published = repository(tmp_path)
    store = Store(tmp_path / "out", (published,))
    for recipe in PLANNED.recipes:
        pretend_trained(recipe, store, PLANNED.images, embeddings(0))
    fewer = OLD.with_forest({"forest.spearman": 0.1, "forest.low": 0.0}, FOREST | {"trees": 40})
    fewer.write(published)
    complete_forests([PLANNED], store)
    found = store.results()[OLD.key]
    assert found.options["forest"] == FOREST
    assert found.scores["forest.spearman"] == pytest.approx(1, abs=0.01)


def test_a_training_that_stopped_itself_lacks_no_forest() -> None:
    assert not lacks_forest(PLANNED, result_of(PLANNED, {}, failure="the loss is nan"))


def test_what_is_published_stands_but_for_the_forest_it_lacks(tmp_path: Path) -> None:
    published = repository(tmp_path)
    store = Store(tmp_path / "out", (published,))
    OLD.write(published)
    # Trained again here, on a machine that rounds otherwise.
    again = replace(OLD, scores=dict.fromkeys(FIVE, 0.26))
    again.with_forest({"forest.spearman": 0.7}, FOREST).write(store.results_folder)
    found = store.results()[OLD.key]
    assert found.scores == {**OLD.scores, "forest.spearman": 0.7}
    # A published forest stands as well.
    OLD.with_forest({"forest.spearman": 0.8}, FOREST).write(published)
    assert store.results()[OLD.key].scores["forest.spearman"] == 0.8

"""The study's plan: who contends, what is asked of each, and which embeddings are published."""

from pathlib import Path

import pytest

from made_results import FIVE, result_of
from replication import contenders
from replication.contenders import CONTENDERS, SCREENED, TRAINABLE, plan, trials
from replication.measured import measured
from replication.stages import halves
from replication.study import embedded
from sag_vicreg.artifacts import Result, read_results
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.search import tuned_by

PUBLISHED = Path(__file__).parents[2] / "replication/results"


def searched(name: str, best: float) -> dict[str, Result]:
    """A contender's finished search, won by the rate ``best``."""
    return {
        trial.key: result_of(
            trial,
            {"knn.level4": 0.3 if trial.recipes[0].optimizer.base_lr == best else 0.2},
        )
        for trial in trials(name)
    }


def test_every_contender_is_another_recipe_with_the_same_budget() -> None:
    every = {name: trials(name) for name in SCREENED if name in TRAINABLE}
    for planned in every.values():
        assert [t.recipes[0].optimizer.base_lr for t in planned] == [0.4, 1.3, 4.0]
        assert {t.recipes[0].schedule.steps for t in planned} == {300}
        assert {(t.images.classes, t.images.split) for t in planned} == {("first", "train")}
    keys = [trial.key for planned in every.values() for trial in planned]
    assert len(set(keys)) == len(keys) == 3 * 5


def test_the_searches_of_vicreg_and_of_the_literal_reading_are_published() -> None:
    published = read_results([PUBLISHED])
    for name, method in (("vicreg", "vicreg"), ("literal", "sag-vicreg-literal")):
        assert all(trial.key in published for trial in trials(name))
        tables = plan(name, 0, published, steps=3000).tables
        (theirs,) = [
            e for e in halves(tuned_by(published), steps=3000, methods=[method]) if e.seed == 0
        ]
        assert tables.key == theirs.key
        assert tables.key in published


def test_what_is_screened_are_training_images_of_the_first_half() -> None:
    with pytest.raises(InputError, match="search of own-view is unfinished"):
        plan("own-view", 10, {})
    planned = plan("own-view", 10, searched("own-view", 4.0))
    screened = planned.evaluations()
    assert [e.kind for e in screened] == ["structure", "selection", "selection"]
    assert {e.images for e in screened} == {ImageSet("cifar100", "first", "train")}
    first, second = planned.recipes
    assert (first.dataset.classes, second.dataset.classes) == ("first", "second")
    assert [e.recipes for e in screened[1:]] == [(first,), (second,)]
    for recipe in (first, second):
        assert (recipe.seed, recipe.schedule.steps, recipe.optimizer.base_lr) == (10, 1000, 4.0)
        assert (recipe.method.around, recipe.method.walk_after) == ("own_view", 0)  # type: ignore[union-attr]


def test_what_is_confirmed_are_test_images_by_structure_and_of_the_classes_seen() -> None:
    planned = plan("own-view", 0, searched("own-view", 4.0), steps=3000)
    tables, twenty, *levels = planned.evaluations(test=True)[3:]
    assert (tables.options["half_samples"], twenty.options["half_samples"]) == (10, 20)
    assert tables.images == twenty.images == ImageSet("cifar100", "first", "test")
    assert [e.kind for e in levels] == ["levels", "levels"]
    assert [e.images.classes for e in levels] == ["first", "second"]


def test_a_rejected_row_keeps_its_results_and_is_not_trained_again() -> None:
    published = read_results([PUBLISHED])
    rejected = {name for name in SCREENED if name not in TRAINABLE}
    assert rejected == {
        *("crossed", "random", "crossed-half", "crossed-representation", "stay-home"),
        *("memory", "memory-10"),
    }
    kept = set()
    for name in rejected:
        for seed in contenders.SEEDS:
            found = measured(name, seed, published)
            for result, kind in zip(
                (found.structure, *found.selection),
                ("structure", "selection", "selection"),
                strict=True,
            ):
                assert result is not None
                assert (result.kind, result.seed) == (kind, seed)
                kept.add(result.key)
        with pytest.raises(InputError, match="rejected by the study"):
            plan(name, 0, published, steps=3000)
    assert len(kept) == 3 * 2 * len(rejected), "every row has its own"


def test_confirmed_results_of_a_rejected_row_are_those_of_test_images() -> None:
    published = read_results([PUBLISHED])
    for name, weight in (("memory", 25), ("memory-10", 13.12)):
        found = measured(name, 0, published, steps=3000)
        assert found.test is not None
        assert found.test.images["split"] == "test"
        assert found.test.options["half_samples"] == 20
        for result, half in zip(found.levels, ("first", "second"), strict=True):
            assert result is not None
            (model,) = result.models
            assert (model["dataset"]["classes"], model["schedule"]["steps"]) == (half, 3000)
            assert (model["method"]["memory"], model["method"]["invariance_weight"]) == (
                4000, weight
            )  # fmt: skip
    nothing = measured("memory", 9, published, steps=3000)
    assert (nothing.structure, nothing.selection, nothing.test) == (None, (None, None), None)


def test_the_control_follows_from_what_was_measured_around_the_own_view() -> None:
    (scaled, *_) = trials("scaled")[0].recipes
    assert scaled.method.invariance_weight == pytest.approx(25 * contenders.MEAN_WEIGHT)  # type: ignore[union-attr]
    assert [n for n in SCREENED if CONTENDERS[n].role == "control"] == ["scaled", "random"]


def test_the_second_round_has_one_pull() -> None:
    for name in ("vicreg-10", "own-view-10"):
        weight = trials(name)[0].recipes[0].method.invariance_weight  # type: ignore[union-attr]
        share = 1 if name == "vicreg-10" else contenders.MEAN_WEIGHT
        assert weight * share == pytest.approx(contenders.PULL, rel=1e-3)
        assert (CONTENDERS[name].round, CONTENDERS["vicreg"].round) == (2, 1)


def test_points_of_vicregs_curve_take_its_learning_rate() -> None:
    results = searched("vicreg", 0.4)
    for name, weight in (("invariance-5", 5), ("invariance-50", 50)):
        (recipe, _) = plan(name, 10, results).recipes
        assert recipe.optimizer.base_lr == 0.4
        assert recipe.method.invariance_weight == weight  # type: ignore[union-attr]
        assert name not in SCREENED


def test_embeddings_of_screened_and_of_the_tables_models_are_published() -> None:
    search = searched("vicreg", 1.3)
    kept = []
    for name, seed, steps, is_kept in (
        ("vicreg", 10, 1000, True),
        ("vicreg", 10, 300, False),  # a point of the curve
        ("invariance-5", 11, 1000, False),
        ("vicreg", 0, 3000, False),  # of longer trainings the test images
    ):
        planned = plan(name, seed, search, steps=steps).structure
        result = result_of(planned, dict.fromkeys(FIVE, 0.3))
        kept.append(result in embedded({**search, result.key: result}))
        assert kept[-1] == is_kept, (name, seed, steps)
    tables = [plan("vicreg", seed, search, steps=3000).tables for seed in (0, 2, 3)]
    results = {e.key: result_of(e, dict.fromkeys(FIVE, 0.3)) for e in tables}
    assert [r.seed for r in embedded({**search, **results})] == [0, 2], "of three seeds"
    failed = result_of(tables[0], {}, failure="the loss is nan")
    assert embedded({**search, failed.key: failed}) == []

"""The study tabulated: its rule, VICReg's curves and the page, from made-up results."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from made_study import Scores, finish, finish_search
from replication.confirmation import RIVALS, Difference, differences, goal_states
from replication.contenders import CONTENDERS
from replication.curve import Curve, Point, gain, vicreg_curves
from replication.page import END
from replication.references import (
    ReferencePoint,
    Sets,
    measure,
    read_points,
)
from replication.screening import apply_rule, screening, standing
from replication.study_page import (
    BEGIN,
    generated_part,
    update_study_page,
)
from sag_vicreg.artifacts import Embeddings, Result
from sag_vicreg.errors import InputError

# Two candidates keep VICReg's k-NN; one of them has the higher forest similarity. The best of all
# does not keep it.
SCREENING = {
    "vicreg": Scores(knn=20.0, forest=0.78),
    "own-view": Scores(knn=20.5, forest=0.80),
    "crossed": Scores(knn=19.0, forest=0.84),
    "scaled": Scores(knn=19.9, forest=0.79),
    "random": Scores(knn=15.0, forest=0.81),
    "crossed-half": Scores(knn=18.9, forest=0.95),
    "crossed-representation": Scores(knn=10.0, forest=0.5),
    "stay-home": Scores(knn=20.0, forest=0.7),
    "memory": Scores(knn=20.0, forest=0.6),
}
SECOND_ROUND = {
    "vicreg-10": Scores(knn=23.0, forest=0.85),
    "own-view-10": Scores(knn=21.9, forest=0.9),
    "memory-10": Scores(knn=22.0, forest=0.86),
}

MEMORY = CONTENDERS["memory"].title


@pytest.fixture(scope="module")
def whole() -> dict[str, Result]:
    """Every row of the screening, both seeds."""
    results: dict[str, Result] = {}
    for name, scores in (SCREENING | SECOND_ROUND).items():
        finish_search(name, results)
        for seed in (10, 11):
            finish(name, seed, scores, results)
    return results


def only(*names: str, seeds: tuple[int, ...] = (10, 11)) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for name in names:
        finish_search(name, results)
        for seed in seeds:
            finish(name, seed, SCREENING[name], results)
    return results


def test_the_rule_chooses_the_best_forest_among_those_that_keep_their_neighbours(
    whole: dict[str, Result],
) -> None:
    verdict = apply_rule(screening(whole))
    assert verdict is not None
    assert verdict.is_final
    assert [row.name for row in verdict.ranking] == ["crossed", "own-view", "stay-home", "memory"]
    assert [row.name for row in verdict.too_low] == ["crossed-half", "crossed-representation"]
    assert [row.name for row in verdict.rivals] == ["vicreg", "scaled", "random"]
    assert not verdict.unbeaten
    page = generated_part(whole, [])
    assert "the rule chooses **crossed** (k-NN 19.00, forest similarity 0.840)" in page
    assert "then around the own view (0.800)." in page
    assert (
        "In forest similarity it beats VICReg; control: VICReg, invariance scaled; control: random "
        "partners." in page
    )
    assert "Provisional" not in page
    assert "so far" not in page


def test_the_second_round_measures_against_its_own_baseline(whole: dict[str, Result]) -> None:
    verdict = apply_rule(screening(whole, 2))
    assert verdict is not None
    assert verdict.baseline.name == "vicreg-10"
    assert [row.name for row in verdict.ranking] == ["memory-10"]
    assert [row.name for row in verdict.too_low] == ["own-view-10"], "VICReg itself has 20 percent"
    page = generated_part(whole, [])
    assert "In forest similarity it beats VICReg, pull of 10." in page
    assert "below VICReg, pull of 10: around the own view, pull of 10." in page


def test_a_control_that_is_as_good_denies_the_name(whole: dict[str, Result]) -> None:
    results = dict(whole)
    for seed in (10, 11):
        finish("random", seed, Scores(knn=15.0, forest=0.85), results)
    verdict = apply_rule(screening(results))
    assert verdict is not None
    assert [row.name for row in verdict.unbeaten] == ["random"]
    assert "not called better than VICReg: it does not beat control: random partners." in (
        generated_part(results, [])
    )


def test_unfinished_rows_are_listed_and_the_rule_is_provisional() -> None:
    results = only("vicreg", "own-view", seeds=(10,))
    verdict = apply_rule(screening(results))
    assert verdict is not None
    assert verdict.seeds == (10,)
    assert [row.name for row in verdict.ranking] == ["own-view"]
    assert {row.name for row in verdict.unfinished} == set(SCREENING)
    page = generated_part(results, [])
    assert "| around the own view (**unfinished**: seed 11) | 20.50 | 0.800 |" in page
    scaled = CONTENDERS["scaled"].title
    assert f"| {scaled} (**unfinished**: learning-rate search) | — |" in page
    assert f"| {MEMORY} (**unfinished**: seed 10; seed 11) | — |" in page
    assert "Provisional, from seed 10: 0 of 9 rows are finished." in page
    assert "waits for control: VICReg, invariance scaled; control: random partners." in page


def test_without_vicreg_the_rule_says_nothing() -> None:
    results = only("own-view")
    assert apply_rule(screening(results)) is None
    assert "VICReg is unfinished: nothing to measure the others against." in (
        generated_part(results, [])
    )


def test_a_row_is_compared_over_vicregs_seeds_or_not_at_all() -> None:
    results = only("vicreg")
    finish_search("own-view", results)
    finish("own-view", 11, SCREENING["own-view"], results)
    verdict = apply_rule(screening(results))
    assert verdict is not None
    assert not verdict.ranking
    assert "No candidate has finished these seeds yet." in generated_part(results, [])


def test_a_training_that_stopped_itself_is_told_and_not_waited_for() -> None:
    results = only("vicreg")
    finish_search("crossed", results)
    for seed in (10, 11):
        finish("crossed", seed, "the loss is nan at step 9", results)
    row = standing("crossed", results)
    assert row.is_finished
    assert row.failures[0] == "seed 10 stopped itself: the loss is nan at step 9"
    verdict = apply_rule(screening(results))
    assert verdict is not None
    assert "crossed" not in {each.name for each in verdict.unfinished}
    assert "crossed (seed 10 stopped itself: the loss is nan at step 9;" in (
        generated_part(results, [])
    )


def test_a_result_without_its_forest_is_unfinished() -> None:
    results = only("vicreg")
    finish("vicreg", 10, Scores(knn=20.0, forest=None), results)
    assert standing("vicreg", results).missing == ("seed 10, its forest",)


def test_a_curve_is_interpolated_and_ends_where_it_ends() -> None:
    curve = Curve("c", (Point("a", 10.0, 0.9), Point("b", 20.0, 0.7), Point("c", 20.0, 0.6)))
    knn, forest = [10.0, 20.0], [0.9, 0.7]
    for at in (10.0, 12.5, 17.0):
        assert curve.at(at) == pytest.approx(np.interp(at, knn, forest))
    assert curve.at(9.9) is None
    assert curve.at(20.1) is None


def test_a_gain_is_over_the_highest_curve_there_is(whole: dict[str, Result]) -> None:
    row = standing("own-view", whole)
    low = Curve("low", (Point("", 0.0, 0.1), Point("", 40.0, 0.1)))
    high = Curve("high", (Point("", 20.0, 0.7), Point("", 21.0, 0.7)))
    beyond = Curve("beyond", (Point("", 0.0, 0.9), Point("", 19.0, 0.9)))
    assert gain(row, [low, high, beyond]) == pytest.approx(0.1)
    assert gain(row, [beyond]) is None


def test_vicregs_curves_are_made_of_what_is_finished() -> None:
    results = only("vicreg", "scaled")
    for seed in (10, 11):
        finish("vicreg", seed, Scores(knn=12.0, forest=0.9), results, steps=300)
    points = [ReferencePoint("pca", "4", seed, 14.0, 0.85, 0.8, 0.9) for seed in (10, 11)]
    by_length, by_components, by_weight = vicreg_curves(results, points)
    assert [p.label for p in by_length.points] == ["300", "1,000"]
    assert [p.label for p in by_components.points] == ["4", "all"]
    assert by_components.points[0].seeds == ((14.0, 0.85), (14.0, 0.85))
    assert [p.label for p in by_weight.points] == ["19.05", "25"]
    page = generated_part(results, points)
    assert "| VICReg by steps of training: 300 | 12.00 (12.00, 12.00) | 0.900 (" in page
    assert "by components kept: " not in page, "these stand among what cost no training"
    assert vicreg_curves(only("vicreg"), []) == [], "one point is no curve"


def test_differences_are_paired_by_seed_with_students_interval() -> None:
    results: dict[str, Result] = {}
    gains = {0: 0.03, 1: 0.05, 2: 0.04}
    for name in ("vicreg", "memory"):
        finish_search(name, results)
        for seed, more in gains.items():
            added = more if name == "memory" else 0.0
            scores = Scores(knn=20.0 - 100 * added, forest=0.7 + 0.1 * seed + added)
            finish(name, seed, scores, results, steps=3000, test=True)
    found = {d.score: d for d in differences(results) if d.steps == 3000}
    forest = found["forest.spearman"]
    assert forest.by_seed == pytest.approx(gains)
    expected = stats.t.interval(0.95, 2, loc=0.04, scale=stats.sem(list(gains.values())))
    assert forest.interval == pytest.approx(expected)
    assert forest.verdict == "above"
    assert found["knn.level4"].verdict == "below"
    assert found["knn.level4"].mean == pytest.approx(-4)
    assert found["lca.pearson"].verdict == "undecided"
    page = generated_part(results, [])
    assert (
        f"| {MEMORY} | 0, 1, 2 | 16.0 (17.0, 15.0, 16.0) | 16.0 (17.0, 15.0, 16.0) | 0.840 ("
        in page
    )
    assert "| Forest Spearman | **+0.040 (+0.015 to +0.065)** |" in page
    assert "| LCA Pearson | +0.000 (+0.000 to +0.000) |" in page
    assert "| k-NN level 4 | **-4.00 (-6.48 to -1.52)** |" in page
    assert "**10,000 steps: unfinished**" in page


@pytest.mark.parametrize(
    ("knn", "forests", "kept", "above", "beyond"),
    [
        ((19.0, 19.1), (0.71, 0.81), True, 2, 1),
        ((18.9, 19.0), (0.71, 0.79), False, 1, 1),
        ((25.0, 25.0), (0.70, 0.80), True, 0, 0),
    ],
)
def test_the_goal_wants_accuracy_on_average_and_structure_in_every_seed(
    knn: tuple[float, ...], forests: tuple[float, ...], kept: bool, above: int, beyond: int
) -> None:
    results: dict[str, Result] = {}
    for name, accuracies, similarities in (
        ("vicreg", (20.0, 20.0), (0.7, 0.8)),
        ("memory", knn, forests),
        ("scaled", knn, (0.70, 0.82)),
    ):
        finish_search(name, results)
        for seed, scores in enumerate(map(Scores, accuracies, similarities)):
            finish(name, seed, scores, results, steps=3000, test=True)
    beside_control = differences(results, against="scaled")
    assert {d.name for d in beside_control} == {"memory"}, "neither VICReg nor itself"
    # A control has no goal to reach.
    (state,) = goal_states({"vicreg": differences(results), "scaled": beside_control})
    assert (state.name, state.steps, state.keeps_accuracy) == ("memory", 3000, kept)
    page = generated_part(results, [])
    assert f"Accuracy is {'kept' if kept else 'not kept'}" in page
    control = CONTENDERS["scaled"].title
    assert f"above that of VICReg in {above} of 2 seeds" in page
    assert f"above that of {control} in {beyond} of 2 seeds" in page
    difference = forests[0] - 0.70 + forests[1] - 0.82
    table = page[page.index(f"**Minus {control}, 3,000 steps:**") :]
    assert f"| Forest Spearman | {difference / 2:+.3f} (" in table


def test_rows_of_the_second_round_are_compared_at_their_pull_and_with_vicreg() -> None:
    results: dict[str, Result] = {}
    for name, knn in (("vicreg", 20.0), ("vicreg-10", 23.0), ("memory", 21.0), ("memory-10", 22.5)):
        finish_search(name, results)
        finish(name, 0, Scores(knn=knn, forest=0.8), results, steps=3000, test=True)

    def lead(against: str) -> dict[str, float]:
        found = differences(results, against=against)
        return {d.name: d.mean for d in found if d.score == "knn.level4"}

    assert lead("vicreg") == pytest.approx({"vicreg-10": 3.0, "memory": 1.0, "memory-10": 2.5})
    assert lead("vicreg-10") == pytest.approx({"memory-10": -0.5})
    assert "**Minus VICReg, pull of 10, 3,000 steps:**" in generated_part(results, [])
    states = goal_states({rival: differences(results, against=rival) for rival in RIVALS})
    assert {state.name: list(state.forests) for state in states} == {
        "memory": ["vicreg"],
        "memory-10": ["vicreg-10"],
    }


@pytest.mark.parametrize(
    ("by_seed", "verdict"),
    [({0: 0.5}, "undecided"), ({0: 0.1, 1: -0.1}, "undecided"), ({0: 0.1, 1: 0.1}, "above")],
)
def test_one_seed_decides_nothing(by_seed: dict[int, float], verdict: str) -> None:
    assert Difference("memory", 3000, "forest.spearman", by_seed).verdict == verdict


def test_the_page_is_rewritten_between_its_markers(
    tmp_path: Path, whole: dict[str, Result]
) -> None:
    path = tmp_path / "study.md"
    with pytest.raises(InputError, match="no page"):
        update_study_page(path, whole, [])
    path.write_text(f"# Criteria\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nmore by hand\n")
    points = [
        ReferencePoint("pca", "4", 10, 14.0, 0.85, 0.8, 0.9),
        ReferencePoint("untrained", "other weights", 10, 7.0, 0.6, 0.5, 0.7),
        ReferencePoint("colour", "mean of the image", 0, 3.0, 1.0, 1.0, 1.0),
    ]
    update_study_page(path, whole, points)
    text = path.read_text()
    assert text.startswith("# Criteria\n\nby hand\n")
    assert text.endswith("more by hand\n")
    assert "old" not in text.split("### Screening")[0]
    assert "| untrained backbone, other weights | 10 | 7.00 | 0.600 |" in text
    assert (tmp_path / "replication" / "structure-vs-knn.png").stat().st_size > 10_000
    update_study_page(path, whole, points)
    assert path.read_text() == text


def pool(n: int, seed: int) -> Embeddings:
    """Two of CIFAR-100's classes, told apart by one of six directions."""
    rng = np.random.default_rng(seed)
    apple = np.arange(n) % 2 == 0
    vectors = rng.normal(size=(n, 6)) * [1, 1, 5, 1, 1, 1]
    vectors[:, 0] += np.where(apple, 6, -6)
    labels = np.where(apple, "apple", "whale")
    return Embeddings(vectors, np.array([f"{row}" for row in range(n)]), labels)


def test_truncation_is_scikit_learns_pca() -> None:
    from sklearn.decomposition import PCA

    sets = Sets(pool(200, 0), pool(60, 1))
    reference = PCA(2, svd_solver="full").fit(sets.pool.vectors)
    for given, cut in (
        (sets.pool, sets.truncated(2).pool),
        (sets.kept, sets.truncated(2).kept),
    ):
        expected = reference.inverse_transform(reference.transform(given.vectors))
        np.testing.assert_allclose(cut.vectors, expected, atol=1e-9)
    np.testing.assert_allclose(sets.truncated(6).kept.vectors, sets.kept.vectors, atol=1e-9)


def test_a_point_has_the_neighbours_of_the_pool_and_the_forest_of_the_kept() -> None:
    sets = Sets(pool(400, 0), pool(80, 1))
    point = measure("pca", "6", 10, sets, sets)
    assert point.knn > 95
    assert point.forest == pytest.approx(1)
    noise = Sets(
        Embeddings(np.random.default_rng(2).normal(size=(400, 6)), labels=sets.pool.labels),
        sets.kept,
    )
    assert measure("pca", "6", 10, sets, noise).knn < (point.knn + 65) / 2


def test_points_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.json"
    assert read_points(path) == []
    path.write_text('[{"kind": "pca", "detail": "2", "seed": 10, "knn": 5, "forest": 0.9}]')
    with pytest.raises(InputError, match="holds no reference points"):
        read_points(path)


def test_means_are_over_seeds() -> None:
    results: dict[str, Result] = {}
    finish_search("vicreg", results)
    finish("vicreg", 10, Scores(knn=20.0, forest=0.7), results)
    finish("vicreg", 11, Scores(knn=22.0, forest=0.8), results)
    row = standing("vicreg", results)
    assert math.isclose(row.knn, 21)
    assert math.isclose(row.forest, 0.75)
    assert "| VICReg | 21.00 (20.00, 22.00) | 0.750 (0.700, 0.800) | 0.60 to 0.80," in (
        generated_part(results, [])
    )

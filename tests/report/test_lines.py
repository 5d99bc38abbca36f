"""Lines of a reproduction: what is averaged, what shares a line, and what lines are called."""

import re
from pathlib import Path
from typing import Any

import pytest

from sag_vicreg.artifacts import write_json
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import load_recipe
from sag_vicreg.recipes.method_sections import WalkSettings
from sag_vicreg.report import build_report
from sag_vicreg.report.charts import score_charts
from sag_vicreg.report.lines import ScoreLines, score_lines
from sag_vicreg.report.sources import open_sources
from sag_vicreg.report.tables import ScoreRow
from sag_vicreg.scores import Spread

STRUCTURE = {"lca.pearson": 0.3, "lca.kendall": 0.2}


def write_result(
    folder: Path,
    method: str,
    *overrides: str,
    kind: str = "structure",
    seed: int = 0,
    scores: dict[str, float] = STRUCTURE,
    classes: tuple[str, ...] = ("first", "second"),
    **changes: Any,
) -> None:
    """A result as ``reproduce`` leaves it; the family is everything but the seed."""
    recipes = [
        load_recipe(
            f"cifar100/{method}",
            scale="cpu",
            overrides=[*overrides, f"dataset.classes={half}", f"seed={seed}"],
        ).model_dump(mode="json")
        for half in classes
    ]
    family = f"{kind}{method}{overrides}{classes}{changes.get('images')}{changes.get('family')}"
    content = {
        "kind": kind,
        "key": f"{family}{seed}",
        "family": family,
        "method": method,
        "seed": seed,
        "images": {"dataset": "cifar100", "classes": "first", "split": "test"},
        "options": {"max_images": 10_000},
        "models": recipes,
        "scores": scores,
        "half_samples": {},
        "failure": None,
        "n_images": 100,
        "seconds": {},
        "versions": {},
        "measures": [],
        **changes,
    }
    number = len(list(folder.glob("*.json"))) if folder.is_dir() else 0
    write_json(folder / f"{number:02d}.json", content)


def lines_of(*folders: Path) -> ScoreLines:
    return score_lines([], open_sources(folders).results)


def by_name(*folders: Path) -> dict[str, ScoreRow]:
    return {line.name: line for line in lines_of(*folders).lines}


def test_recipes_are_averaged_apart_and_named_by_what_differs(tmp_path: Path) -> None:
    variants: dict[tuple[str, ...], float] = {
        ("schedule.steps=1000",): 0.1,
        ("schedule.steps=3000",): 0.3,
        ("schedule.steps=10000",): 0.5,
        ("schedule.steps=1000", "method.k=3"): 0.7,
        ("schedule.steps=1000", "batch_size=100"): 0.9,
    }
    for overrides, score in variants.items():
        for seed in (0, 1):
            scores = {"lca.pearson": score + seed / 10}
            write_result(tmp_path, "sag-vicreg", *overrides, seed=seed, scores=scores)
    for steps in (1000, 3000):
        write_result(tmp_path, "vicreg", f"schedule.steps={steps}")
    write_result(tmp_path, "simclr", "schedule.steps=1000")
    found = lines_of(tmp_path)
    # What can be compared stands together, the baseline first.
    assert [line.name for line in found.lines] == [
        "VICReg",
        "SAG-VICReg",
        "SimCLR",
        "SAG-VICReg, k 3",
        "SAG-VICReg, batch 100",
        "VICReg, 3,000 steps",
        "SAG-VICReg, 3,000 steps",
        "SAG-VICReg, 10,000 steps",
    ]
    means = [line.scores["lca.pearson"] for line in found.lines if "SAG" in line.name]
    assert means == pytest.approx([0.15, 0.75, 0.95, 0.35, 0.55])
    assert found.common == "Unless a name says otherwise: k 5, batch 200, 1,000 steps."
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert found.common in page
    assert "SAG-VICReg, 10,000 steps</th>" in page


def test_a_setting_only_one_recipe_has_tells_them_apart(tmp_path: Path) -> None:
    write_result(tmp_path, "vicreg", "schedule.steps=1000")
    write_result(tmp_path, "vicreg", "schedule.steps=null", "schedule.epochs=10")
    found = lines_of(tmp_path)
    assert [line.name for line in found.lines] == ["VICReg", "VICReg, 10 epochs"]
    assert found.common == "Unless a name says otherwise: 1,000 steps."


def test_kinds_of_one_recipe_share_a_line_and_of_another_do_not(tmp_path: Path) -> None:
    short, long = "schedule.steps=1000", "schedule.steps=3000"
    write_result(tmp_path, "vicreg", short)
    levels = {"knn.level1": 0.6}
    write_result(tmp_path, "vicreg", short, kind="levels", scores=levels, classes=("all",))
    rand = {"rand.level1": 0.8}
    write_result(tmp_path, "vicreg", short, kind="rand", scores=rand, classes=("all",))
    assert {n: dict(line.scores) for n, line in by_name(tmp_path).items()} == {
        "VICReg": {**STRUCTURE, **levels, **rand}
    }
    other = {"ari.level1": 0.5}
    write_result(tmp_path, "vicreg", long, kind="rand", scores=other, classes=("all",))
    assert by_name(tmp_path)["VICReg, 3,000 steps"].scores == other
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    # Above the table and above the charts.
    assert page.count("Unless a name says otherwise: 1,000 steps.") == 2


def test_one_recipe_on_other_images_is_another_line(tmp_path: Path) -> None:
    for classes, score in (("first", 0.1), ("second", 0.9)):
        images = {"dataset": "cifar100", "classes": classes, "split": "test"}
        write_result(tmp_path, "vicreg", images=images, scores={"lca.pearson": score})
    found = by_name(tmp_path)
    assert found["VICReg, classes first"].scores == {"lca.pearson": 0.1}
    assert found["VICReg, classes second"].scores == {"lca.pearson": 0.9}


def test_families_that_say_nothing_of_their_difference_are_named_by_address(tmp_path: Path) -> None:
    for family in ("aaaaaaaa", "bbbbbbbb"):
        write_result(tmp_path, "vicreg", family=family)
    assert list(by_name(tmp_path)) == ["VICReg, aaaaaa", "VICReg, bbbbbb"]


def test_other_datasets_are_named(tmp_path: Path) -> None:
    for dataset in ("cifar100", "caltech256"):
        write_result(tmp_path, "vicreg", images={"dataset": dataset})
    assert list(by_name(tmp_path)) == ["VICReg, caltech256", "VICReg, cifar100"]


def test_a_result_in_two_folders_is_one(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_result(tmp_path / folder, "vicreg")
    assert len(open_sources([tmp_path / "a", tmp_path / "b"]).results) == 1
    assert by_name(tmp_path / "a", tmp_path / "b")["VICReg"].deviations == {}


def test_trials_and_failures_are_no_scores(tmp_path: Path) -> None:
    trial = {"knn.level1": 0.6}
    write_result(tmp_path, "vicreg", kind="selection", scores=trial, classes=("first",))
    for seed in (0, 1):
        write_result(tmp_path, "vicreg", seed=seed)
    write_result(tmp_path, "vicreg", seed=2, scores={}, failure="it diverged")
    (line,) = lines_of(tmp_path).lines
    assert line.scores == pytest.approx(STRUCTURE)
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert "Not in the averages, as the training stopped itself: VICReg seed 2." in page
    assert "2 results, without embeddings." in page


def test_nothing_but_trials_or_failures_is_refused(tmp_path: Path) -> None:
    write_result(tmp_path / "trials", "vicreg", kind="selection")
    write_result(tmp_path / "failures", "vicreg", scores={}, failure="it diverged")
    with pytest.raises(InputError, match="trials of a search do not count"):
        open_sources([tmp_path / "trials"])
    with pytest.raises(InputError, match="stopped itself: there is nothing to report"):
        open_sources([tmp_path / "failures"])


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    write_result(tmp_path, "vicreg", images="cifar100", family="f")
    with pytest.raises(InputError, match=r"00\.json is not a result of `reproduce` \(images: "):
        open_sources([tmp_path])


def test_halves_are_averaged_over_seeds_and_marked_where_they_are_elsewhere(
    tmp_path: Path,
) -> None:
    for seed in (0, 1):
        halves = {
            "lca.pearson": {"mean": 0.4, "deviation": 0.01},
            "lca.kendall": {"mean": 0.2 + seed / 50, "deviation": 0.02 + seed / 50},
            "of no score": {"mean": 0.0, "deviation": 0.0},
        }
        write_result(tmp_path, "vicreg", seed=seed, half_samples=halves)
    (line,) = lines_of(tmp_path).lines
    assert line.halves["lca.pearson"] == Spread(0.4, 0.01)
    assert line.halves["lca.kendall"].mean == pytest.approx(0.21)
    assert line.halves["lca.kendall"].deviation == pytest.approx(0.03)
    assert line.halves.keys() == STRUCTURE.keys()
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert "halves: 0.400 ± 0.010 †<" in page
    assert "halves: 0.210 ± 0.030<" in page
    assert "† Half-samples move this score by more than 0.05" in page


def test_halves_that_not_every_seed_has_are_left_out(tmp_path: Path) -> None:
    halves = {"lca.pearson": {"mean": 0.4, "deviation": 0.01}}
    write_result(tmp_path, "vicreg", seed=0, half_samples=halves)
    write_result(tmp_path, "vicreg", seed=1)
    (line,) = lines_of(tmp_path).lines
    assert line.halves == {}


def forest(score: float) -> dict[str, float]:
    """Scores as ``reproduce`` writes them."""
    return {
        "forest.spearman": score,
        "forest.pearson": score - 0.01,
        "forest.shared.spearman": score - 0.02,
        "forest.low": score - 0.03,
        "forest.high": score + 0.03,
        **STRUCTURE,
    }


def headings(page: str) -> list[str]:
    return re.findall(r'<th scope="col">([^<]*)</th>', page)


def test_a_reproduction_leads_with_its_forests(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_result(tmp_path, "vicreg", seed=seed, scores=forest(0.6 + seed / 10))
    write_result(tmp_path, "sag-vicreg", scores=forest(0.99))
    write_result(tmp_path, "simclr")
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert "Most alike by forest similarity: SAG-VICReg, 0.990. Least: VICReg, 0.650." in page
    assert headings(page)[:4] == [
        "Method",
        "Forest similarity",
        "Forest similarity, Pearson",
        "Forest similarity, not corrected, Spearman",
    ]
    assert headings(page).index("LCA Pearson") > 4
    assert "0.960 to 1.020<" in page, "one seed has an interval"
    assert re.search(r"0\.650\s*<small>± 0\.071</small></td>", page), "a mean has none"
    assert "With one seed" in page


def test_forests_grown_otherwise_are_not_averaged(tmp_path: Path) -> None:
    for seed, trees in ((0, 100), (1, 20)):
        write_result(
            tmp_path,
            "vicreg",
            seed=seed,
            scores=forest(0.6 + seed / 10),
            options={"forest": {"trees": trees}},
        )
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert "Forest similarity" not in headings(page)
    assert "LCA Pearson" in headings(page)


@pytest.mark.parametrize("order", [("with", "without"), ("without", "with")])
def test_of_one_result_in_two_folders_that_with_a_forest_stands(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    for name in order:
        (tmp_path / name).mkdir()
        write_result(
            tmp_path / name, "vicreg", **({"scores": forest(0.9)} if name == "with" else {})
        )
    (result,) = open_sources([tmp_path / name for name in order]).results
    assert result.forest_scores


def test_results_without_forests_say_so(tmp_path: Path) -> None:
    write_result(tmp_path, "vicreg")
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert "These results hold no forest similarity" in page
    assert headings(page)[:2] == ["Method", "LCA Pearson"]


def test_a_reproduction_without_structure_shows_its_charts(tmp_path: Path) -> None:
    scores = {"knn.level1": 0.6, "knn.level2": 0.4}
    write_result(tmp_path, "vicreg", kind="levels", scores=scores, classes=("all",))
    assert [chart.title for chart in score_charts(lines_of(tmp_path).lines)] == ["k-NN accuracy"]
    page = build_report([tmp_path], tmp_path / "r.html").read_text()
    assert 'id="levels-0"' in page
    assert 'id="scores"' not in page


def test_keys_that_came_later_name_nothing_where_they_change_nothing(tmp_path: Path) -> None:
    """Older results lack them, or have options that are gone: all are of one recipe."""
    older = load_recipe("cifar100/sag-vicreg-literal", scale="cpu").model_dump(mode="json")
    for key in WalkSettings.newer:
        del older["method"][key]
    studied = older | {"method": older["method"] | WalkSettings.rejected}
    scores = {"lca.pearson": 0.5}
    for seed, model in ((0, older), (2, studied)):
        write_result(
            tmp_path, "sag-vicreg-literal", seed=seed, scores=scores, models=[model], family="one"
        )
    write_result(tmp_path, "sag-vicreg-literal", seed=1, scores=scores, family="one")
    around = "method.around=own_view"
    write_result(tmp_path, "sag-vicreg-literal", around, seed=0, scores=scores, family="other")
    literal = "SAG-VICReg (literal)"
    assert list(by_name(tmp_path)) == [literal, f"{literal}, around own_view"]

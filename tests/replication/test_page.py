"""The replication's page, from invented results: its tables, its sentences, what is published."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_replication import even_result, search_results
from made_results import embeddings, pretend_trained, repository
from replication.comparisons import Comparison, comparisons
from replication.findings import (
    ablation_tables,
    half_sample_tables,
    measures_table,
    trend_table,
)
from replication.page import BEGIN, END, generated_part, update_page
from replication.places import Places
from replication.replicate import replicate
from replication.stages import ABLATIONS, LITERAL, STAGES, ablation, halves, stage_states
from sag_vicreg.artifacts import read_results
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce import Campaign, Store, WorkerPool
from sag_vicreg.reproduce.formats import to_markdown
from sag_vicreg.reproduce.search import tuned_by


def test_unfinished_is_listed_as_unfinished() -> None:
    results = search_results()
    planned = STAGES["halves"].evaluations(tuned_by(results))
    results[planned[0].key] = even_result(planned[0], 0.3)
    page = generated_part(results)
    assert "| Learning-rate search, 300 steps per trial | 12 of 12 | finished |" in page
    assert "both halves | 1 of 12 | **unfinished** |" in page
    assert "10,000 steps | 0 of 6 | **unfinished** |" in page
    assert "there is nothing to say yet, either way" in page
    states = {state.stage.name: state.done for state in stage_states(results)}
    assert states["halves"] == 1


def test_differences_are_paired_by_seed_and_told_as_they_are() -> None:
    results = search_results()
    tuned = tuned_by(results)
    for planned in halves(tuned, steps=1000):
        value = 0.3 + 0.1 * planned.seed - (0.05 if planned.method == LITERAL else 0.0)
        if planned.seed < 2 or planned.method == "vicreg":
            results[planned.key] = even_result(planned, value)
    pearson = comparisons(tuned, results)[0]
    assert (pearson.steps, pearson.score) == (1000, "LCA Pearson")
    assert pearson.differences == pytest.approx((-0.05, -0.05))
    score = trend_table(tuned, results).rows[0].scores[0]
    assert score is not None
    assert score.mean == pytest.approx(-0.05)
    page = generated_part(results)
    assert "| 1,000 | LCA Pearson | -0.050 | 2 of 2 | +0.066 | disagrees |" in page
    assert "| 3,000 steps | — |" in page


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ((0.1, 0.2), "agrees"),
        ((-0.1, -0.2), "disagrees"),
        ((0.2, -0.05, -0.05), "undecided"),
        ((0.0, 0.0), "undecided"),
    ],
)
def test_seeds_that_differ_in_sign_decide_nothing(
    differences: tuple[float, ...], verdict: str
) -> None:
    assert Comparison(1000, "LCA Pearson", differences, paper=0.066).verdict == verdict


def test_an_ablation_is_told_seed_by_seed_against_the_unchanged_recipe() -> None:
    results = search_results()
    tuned = tuned_by(results)
    for factor, shift in {"CPU recipe": 0.0, "k 3": 0.02}.items():
        for planned in ablation(tuned, factor):
            results[planned.key] = even_result(planned, 0.3 + 0.1 * planned.seed + shift)
    scores, changes, *_ = ablation_tables(tuned, results)
    by_name = {row.label: row.scores[0] for row in scores.rows}
    assert by_name["k 10"] is None
    assert by_name["k 3"].mean == pytest.approx(0.42)
    assert by_name["k 3"].deviation == pytest.approx(0.1)
    changed = {row.label: row.scores[0] for row in changes.rows}
    assert list(changed) == [*list(ABLATIONS)[1:], "VICReg"]
    assert changed["k 3"].mean == pytest.approx(0.02)
    assert changed["k 3"].deviation == pytest.approx(0.0, abs=1e-12)
    assert "## Ablation" in generated_part(results)


def test_the_unchanged_recipe_alone_is_no_ablation() -> None:
    results = search_results()
    for planned in ablation(tuned_by(results), "CPU recipe"):
        results[planned.key] = even_result(planned, 0.3)
    assert "## Ablation" not in generated_part(results)


def test_accuracies_are_compared_in_percentage_points_and_rand_figures_drawn(
    tmp_path: Path,
) -> None:
    results = search_results()
    for planned in STAGES["levels"].evaluations(tuned_by(results)):
        value = 0.32 if planned.method == LITERAL else 0.3
        results[planned.key] = even_result(planned, value)
    path = tmp_path / "replication.md"
    path.write_text(f"# Ours\n\n{BEGIN}\n{END}\n")
    update_page(path, results)
    text = path.read_text()
    assert "| 1,000 | k-NN Level 1 | +2.00 | 3 of 3 | +1.32 | agrees |" in text
    assert "| 1,000 | linear probe Level 4 | +2.00 | 3 of 3 | +0.78 | agrees |" in text
    for name in ("rand-levels", "rand-clusters"):
        assert f"](replication/{name}.png)" in text
        assert (tmp_path / "replication" / f"{name}.png").stat().st_size > 10_000
    assert "trend.png" not in text
    assert not (tmp_path / "replication" / "trend.png").exists()


def test_half_samples_have_a_mean_and_a_spread() -> None:
    results = search_results()
    planned = halves(tuned_by(results), steps=1000)
    for each in planned:
        results[each.key] = even_result(each, 0.3 + 0.1 * each.seed)
    done = [results[each.key] for each in planned if each.method == "vicreg"]
    mean, spread = half_sample_tables("halves", {"VICReg": done})
    (row,) = mean.rows
    assert row.scores[0].mean == pytest.approx(0.4)
    (row,) = spread.rows
    assert row.scores[0].mean == pytest.approx(0.02)
    assert to_markdown(spread).rstrip().endswith("Mean over 3 seeds.")


def test_results_from_before_there_were_forests_leave_their_columns_open() -> None:
    results = search_results()
    tuned = tuned_by(results)
    for planned in halves(tuned, steps=1000):
        made = even_result(planned, 0.3 - (0.1 if planned.method == LITERAL else 0.0))
        if planned.seed > 0:
            made = replace(made, scores={k: v for k, v in made.scores.items() if k[0] != "f"})
        results[planned.key] = made
    page = generated_part(results)
    # One seed has a forest: the difference is that seed's, and the others' scores stay.
    assert "| 1,000 steps | -0.100 [1] | -0.100 [1] | -0.100 ± 0.000 [3] |" in page
    assert "| 3,000 steps | — | — | — |" in page
    assert page.count("| Forest Spearman | Forest Pearson | LCA Pearson |") == 2
    # A forest has no half-samples, and the paper no forest to agree with.
    means = page.split("Mean of each score over ten")[1].split("**")[2]
    assert "Forest" not in means
    assert "Forest" not in page.split("## What agrees with the paper")[1]


def test_the_page_keeps_what_people_wrote(tmp_path: Path) -> None:
    path = tmp_path / "replication.md"
    path.write_text(f"# Ours\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nmore by hand\n")
    update_page(path, search_results())
    text = path.read_text()
    assert text.startswith("# Ours\n\nby hand\n")
    assert text.endswith("more by hand\n")
    assert "old" not in text
    assert "chosen: 1.3" in text
    update_page(path, search_results())
    assert path.read_text() == text


def test_publishing_keeps_the_embeddings_of_the_tables_and_of_the_trend(tmp_path: Path) -> None:
    published = repository(tmp_path)
    page = tmp_path / "docs" / "replication-tables.md"
    page.write_text(f"# Ours\n\n{BEGIN}\n{END}\n")
    results = search_results()
    tuned = tuned_by(results)
    table, other = halves(tuned, steps=1000, methods=["vicreg"])[:2]
    ablated = ablation(tuned, "k 3")[0]
    store = Store(tmp_path / "out", (published,))
    for planned in (table, ablated):
        for seed, recipe in enumerate(planned.recipes):
            pretend_trained(recipe, store, planned.images, embeddings(seed))
    for planned in (table, other, ablated):
        results[planned.key] = even_result(planned, 0.3)
    for result in results.values():
        result.write(store.results_folder)
    said: list[str] = []
    campaign = Campaign(store, WorkerPool(), echo=said.append)
    assert not replicate(["halves"], campaign, Places(published), run=False, publish=True)
    assert said[-1] == f"published to {published}"
    assert read_results([published]).keys() == results.keys()
    # Of models that are there, and of tables 1 and 2 and the trend alone.
    names = {path.name for path in (published.parent / "embeddings").iterdir()}
    assert names == {f"{r.digest()}-cifar100-test-first.parquet" for r in table.recipes}
    assert "| VICReg | 0.300 ± 0.000 |" in page.read_text()


def test_a_page_without_its_markers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "replication.md"
    with pytest.raises(InputError, match="no page"):
        update_page(path, {})
    path.write_text("# Ours\n")
    with pytest.raises(InputError, match="put both back"):
        update_page(path, {})


def test_measures_are_averaged_over_the_models_of_a_seed_then_over_seeds() -> None:
    results = search_results()
    tuned = tuned_by(results)
    assert not measures_table(tuned, results).rows
    first, second, third = halves(tuned, steps=1000, methods=["vicreg"])
    for planned, knn in ((first, (0.1, 0.3)), (second, (0.3, 0.5))):
        models = [{"knn": value, "rankme": 50.0} for value in knn]
        results[planned.key] = replace(even_result(planned, 0.5), measures=models)
    # A training whose probe could not be measured has none to average.
    results[third.key] = even_result(third, 0.5)
    (row,) = measures_table(tuned, results).rows
    assert row.label == "VICReg, 1,000 steps"
    knn, rank, walks = row.scores
    assert knn is not None
    assert knn.mean == pytest.approx(30)
    assert (knn.runs, rank.mean if rank else None, walks) == (2, 50.0, None)
    assert "| VICReg, 1,000 steps | 30.00 ± 14.14 | 50.00 ± 0.00 | — |" in generated_part(results)

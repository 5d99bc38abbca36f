"""What a report is made of, and what it says where something is missing or wrong."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from made_runs import TREE, embedded_images, write_run
from sag_vicreg.artifacts import (
    Embeddings,
    Run,
    Spread,
    write_embeddings,
    write_json,
    write_text,
)
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.report import build_report, maps
from sag_vicreg.report.charts import score_charts, training_charts
from sag_vicreg.report.headline import half_pairs, structure_headline
from sag_vicreg.report.lines import score_lines
from sag_vicreg.report.points import gather_points, models_to_show
from sag_vicreg.report.sources import open_sources
from sag_vicreg.report.tables import STRUCTURE, Scores, is_far
from sag_vicreg.structure import compare


@pytest.fixture(autouse=True)
def _quick_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """UMAP has its own test; elsewhere its compilation is spared."""
    monkeypatch.setattr(maps, "project", lambda v, seed: np.asarray(v[:, :2], dtype=np.float32))


def text_of(*sources: Path, **options: Any) -> str:
    out = sources[0].parent / "report.html"
    return build_report(list(sources), out, **{"half_samples": 0, **options}).read_text()


def test_runs_are_named_by_what_differs_and_paired_by_their_halves(four_runs: Path) -> None:
    models = open_sources([four_runs]).models
    assert [model.name for model in models] == [
        "VICReg, first half",
        "VICReg, second half",
        "SAG-VICReg, first half",
        "SAG-VICReg, second half",
    ]
    assert half_pairs(models) == {"VICReg": (0, 1), "SAG-VICReg": (2, 3)}


def test_of_a_folder_of_many_kinds_of_runs_those_that_share_their_images_are_shown(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "runs"
    for half in ("first", "second"):
        write_run(folder / f"sag-{half}", "sag-vicreg", half)
    # Baselines come first in every list; this one embeds other images, and one has only begun.
    alone = Run(write_run(folder / "vicreg", "vicreg", "all"))
    (alone.embeddings / "shapes-test.parquet").rename(alone.embeddings / "shapes-all.parquet")
    write_text(Run(folder / "begun").recipe, alone.recipe.read_text())
    sources = open_sources([folder])
    assert len(sources.models) == 3
    names = [model.path.name for model in models_to_show(sources.models, None)]
    assert names == ["sag-first", "sag-second"]
    assert [m.path.name for m in models_to_show(sources.models, "shapes-all")] == ["vicreg"]
    assert "are of 2 of 3 models" in text_of(folder)
    # A run that was named takes part or is refused, and decides which others can.
    both = open_sources([alone.folder, folder]).models
    assert [m.path.name for m in models_to_show(both, None)] == ["vicreg", "vicreg"]


def test_a_write_that_was_killed_is_nowhere_on_the_page(tmp_path: Path) -> None:
    run = Run(write_run(tmp_path / "run", "vicreg", "first"))
    (run.embeddings / ".shapes-all-x1y2.parquet").touch()
    (tmp_path / ".result-x1y2.json").touch()
    (model,) = open_sources([tmp_path]).models
    assert list(model.embeddings) == ["shapes-test"]


def test_the_page_shows_the_scores_compare_gives(four_runs: Path, tmp_path: Path) -> None:
    page = build_report([four_runs], tmp_path / "r.html", half_samples=3, seed=5).read_text()
    points = gather_points(open_sources([four_runs]).models)
    assert points is not None
    expected = compare(points.vectors[2], points.vectors[3], half_samples=3, seed=5)
    assert expected.half_samples is not None
    assert f"{expected.lca.kendall:.3f}" in page
    mean, deviation = expected.half_samples.mean, expected.half_samples.deviation
    halves = f"{mean.cophenetic.d2_to_p1:.3f} ± {deviation.cophenetic.d2_to_p1:.3f}"
    assert f"halves: {halves}" in page
    assert "VICReg and SAG-VICReg on classes they never saw" in page
    assert "Four models embed the same 288 held-out images of 48 classes (shapes)." in page


def test_rows_are_matched_by_id_whatever_their_order(tmp_path: Path) -> None:
    whole = embedded_images(0.3, 0, per_class=3)
    write_embeddings(tmp_path / "a.parquet", whole)
    shuffled = np.random.default_rng(0).permutation(len(whole))[:100]
    write_embeddings(tmp_path / "b.parquet", whole.take(shuffled))
    points = gather_points(open_sources([tmp_path / "a.parquet", tmp_path / "b.parquet"]).models)
    assert points is not None
    assert len(points) == 100
    assert points.left_out == len(whole) - 100
    assert not points.by_position
    np.testing.assert_array_equal(points.vectors[0], points.vectors[1])


def test_every_id_that_some_model_lacks_is_counted(tmp_path: Path) -> None:
    whole = embedded_images(0.3, 0, per_class=2).take(slice(0, 30))
    write_embeddings(tmp_path / "a.parquet", whole.take(slice(0, 20)))
    write_embeddings(tmp_path / "b.parquet", whole.take(slice(10, 30)))
    page = text_of(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert "20 rows that not every model has are left out." in page


def test_rows_matched_by_position_are_said_to_be(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    write_embeddings(tmp_path / "a.parquet", source)
    for name in "bc":
        np.save(tmp_path / f"{name}.npy", source.vectors)
    notice = "Only some of the files have ids: rows were matched by position."
    assert notice in text_of(tmp_path / "b.npy", tmp_path / "a.parquet")
    assert notice not in text_of(tmp_path / "b.npy", tmp_path / "c.npy")


def test_a_sample_takes_the_classes_in_turn() -> None:
    from sag_vicreg.report.points import Points

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


def visible(page: str) -> str:
    return page.split("<body>")[1].split('<script type="application/json"')[0]


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


def test_an_unfinished_run_shows_its_training(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "vicreg", "all")
    for path in (run / "embeddings").iterdir():
        path.unlink()
    (run / "results.json").unlink()
    metrics = run / "metrics.csv"
    metrics.write_text(metrics.read_text()[:-10])  # cut off in the middle of a line
    page = text_of(run)
    assert "No embeddings yet" in page
    assert 'id="training-0"' in page
    assert 'id="map"' not in page


def test_vectors_without_a_correlation_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    write_embeddings(tmp_path / "a.parquet", source)
    constant = np.ones_like(source.vectors)
    write_embeddings(tmp_path / "b.parquet", Embeddings(constant, source.ids, source.labels))
    page = text_of(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert "not compared" in page
    assert 'id="map-left"' in page
    zeros = Embeddings(np.zeros_like(source.vectors), source.ids, source.labels)
    write_embeddings(tmp_path / "c.parquet", zeros)
    assert "There are no trees" in text_of(tmp_path / "c.parquet")
    assert "There are no trees" not in text_of(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", ['{"probe": null}', '{"probe": 0.4}', '{"knn": 1e999}', "[]"])
def test_results_that_are_none_are_named(content: str, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", "vicreg", "all", images=False)
    write_text(Run(folder).results, content)
    with pytest.raises(InputError, match=r"results\.json"):
        open_sources([folder])


def test_a_link_that_leads_nowhere_is_no_result(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs" / "one", "vicreg", "all", images=False)
    (folder.parent / "x.json").symlink_to(tmp_path / "gone.json")
    assert len(open_sources([folder.parent]).models) == 1


def test_a_reproduction_is_averaged_over_seeds(tmp_path: Path) -> None:
    for seed, pearson in enumerate((0.2, 0.3, 0.4)):
        write_json(
            tmp_path / "results" / f"seed{seed}.json",
            {
                "kind": "structure",
                "key": f"k{seed}",
                "family": "f",
                "method": "sag-vicreg",
                "seed": seed,
                "images": {"dataset": "cifar100"},
                "options": {},
                "models": [],
                "n_images": 100,
                "seconds": {},
                "versions": {},
                "measures": [],
                "scores": {"lca.pearson": pearson, "rand.level1": 0.5, "rand.clusters20": 0.9},
                "half_samples": {},
            },
        )
    write_json(tmp_path / "results" / "other.json", {"unrelated": 1})
    lines = score_lines([], open_sources([tmp_path / "results"]).results).lines
    assert [line.name for line in lines] == ["SAG-VICReg"]
    assert lines[0].scores["lca.pearson"] == pytest.approx(0.3)
    assert lines[0].spreads["lca.pearson"] == pytest.approx(0.1)
    assert [chart.title for chart in score_charts(lines)] == [
        "Rand index",
        "Rand index by number of clusters",
    ]
    page = text_of(tmp_path / "results")
    assert "0.300</td>" in page.replace(" <small>± 0.100</small>", "")
    assert "SAG-VICReg, reproduced" in page


def test_long_training_is_thinned_to_averages(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "sag-vicreg", "all", steps=3000, images=False)
    model = open_sources([run]).models[0]
    charts = {chart.title: chart for chart in training_charts([model])}
    assert set(charts) >= {"Loss", "Invariance", "Variance", "Covariance", "Non-trivial pairs"}
    loss = charts["Loss"].series[0]
    assert len(loss.y) == 400
    assert np.mean(loss.y) == pytest.approx(model.metrics["loss"].mean(), rel=1e-3)


def test_a_hierarchy_that_does_not_fit_is_refused_only_when_asked_for(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2, classes=5)
    renamed = Embeddings(source.vectors, source.ids, np.repeat(list("abcde"), 2))
    write_embeddings(tmp_path / "a.parquet", renamed)
    with pytest.raises(InputError, match="not in the hierarchy"):
        text_of(tmp_path / "a.parquet", hierarchy="shapes")
    assert "Class (5)" in text_of(tmp_path / "a.parquet")


def test_a_card_shows_the_halves_own_mean_and_says_when_the_score_is_elsewhere() -> None:
    values = dict.fromkeys(STRUCTURE, 0.883)
    halves = dict.fromkeys(STRUCTURE, Spread(0.8, 0.05)) | {"lca.pearson": Spread(0.451, 0.143)}
    row = Scores("a and b", values, halves=halves)
    headline = structure_headline([row], halves=False, half_samples=8, noun="row")
    first, *others = headline.cards
    assert first.value == "0.883"
    assert first.note.startswith("halves: 0.451 ± 0.143; more than 2 deviations")
    assert {card.note for card in others} == {"halves: 0.800 ± 0.050"}
    assert "8 random halves of the rows" in headline.about
    without = structure_headline([Scores("a", values)], halves=False, half_samples=8, noun="row")
    assert "halves" not in without.about.lower()


def test_rounding_is_not_far_from_the_halves() -> None:
    assert not is_far(1.0, Spread(1 - 1e-9, 0.0))
    assert is_far(1.0, Spread(0.99, 0.0))
    assert not is_far(0.5, None)


def command_of(page: str) -> str:
    return unescape(page.split('<code tabindex="0">')[1].split("</code>")[0])


def test_the_command_has_every_option_that_was_given(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "a.parquet", embedded_images(0.3, 0, per_class=2))
    source, out = tmp_path / "a.parquet", tmp_path / "report.html"
    plain = shlex.join(["sag-vicreg", "report", str(source), "--out", str(out)])
    assert command_of(text_of(source, half_samples=8)) == plain
    options = [
        "--hierarchy=shapes",
        "--embeddings=shapes-test",
        "--title=-Before & after",
        "--max-points=50",
        "--half-samples=0",
        "--seed=3",
    ]
    program, *arguments = shlex.split(plain)
    done = CliRunner().invoke(app, [*arguments, *options])
    assert done.exit_code == 0, done.output
    assert shlex.split(command_of(out.read_text())) == [program, *arguments, *options]


def test_recipes_are_spoken_of_only_where_there_are_some(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(5))
    assert "recipe is complete" not in text_of(tmp_path / "a.npy")
    run = write_run(tmp_path / "run", "vicreg", "all", images=False)
    assert "recipe is complete" in text_of(run)


def test_the_slow_maps_show_their_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Any] = []

    @contextmanager
    def bar(description: str, total: float) -> Iterator[Any]:
        steps.append((description, total))
        yield steps.append

    monkeypatch.setattr(maps, "progress_bar", bar)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(5))
    text_of(tmp_path / "a.npy", tmp_path / "b.npy")
    assert steps == [("maps", 2), 1, 1]

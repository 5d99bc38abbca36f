"""What a report is made of, and what it says where something is missing or wrong."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from made_runs import TREE, embedded_images, write_run
from sag_vicreg.artifacts import (
    ColumnNames,
    Contents,
    Embeddings,
    Run,
    write_embeddings,
    write_json,
    write_text,
)
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.report import build_report, maps
from sag_vicreg.report.charts import score_charts, training_charts, walk_charts
from sag_vicreg.report.comparing import Compared, half_pairs
from sag_vicreg.report.headline import structure_headline
from sag_vicreg.report.lines import score_lines
from sag_vicreg.report.points import gather_points, models_to_show
from sag_vicreg.report.sources import open_sources
from sag_vicreg.report.tables import PageTable, ScoreRow, score_table
from sag_vicreg.scores import PAPERS_FIVE, UNSTABLE, Spread, titles
from sag_vicreg.structure import compare, linear_cka, mutual_neighbors

FIVE = titles(PAPERS_FIVE, "short")


@pytest.fixture(autouse=True)
def _quick_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """UMAP has its own test; elsewhere its compilation is spared."""
    monkeypatch.setattr(maps, "project", lambda v, seed: np.asarray(v[:, :2], dtype=np.float32))


def text_of(*sources: Path, **options: Any) -> str:
    out = sources[0].parent / "report.html"
    quick = {"half_samples": 0, "trees": 0}
    return build_report(list(sources), out, **{**quick, **options}).read_text()


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
    (alone.embeddings / "shapes-test.parquet").unlink()
    others = Contents("shapes", "test", "second", 0, alone.read_recipe().digest())
    write_embeddings(
        alone.embeddings / "shapes-all.parquet",
        embedded_images(0.3, 0, per_class=6),
        metadata=others.to_metadata(),
    )
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
    (file,) = model.embeddings.values()
    assert file.path.stem == "shapes-test"


def test_the_page_shows_the_scores_compare_gives(four_runs: Path, tmp_path: Path) -> None:
    page = build_report([four_runs], tmp_path / "r.html", trees=8, half_samples=3, seed=5)
    text = visible(page.read_text())
    points = gather_points(open_sources([four_runs]).models)
    assert points is not None
    expected = compare(points.vectors[2], points.vectors[3], trees=8, half_samples=3, seed=5)
    assert expected.half_samples is not None
    assert expected.forest is not None
    low, high = expected.forest.interval
    both = [np.asarray(x, float) for x in points.vectors[2:]]
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in both]
    shown = {
        "forest": f"{expected.forest.spearman:.3f}",
        "interval": f"{low:.3f} to {min(high, 1.0):.3f}",
        "neighbours": f"{mutual_neighbors(unit[0], unit[1], k=10):.1%}",
        "cka": f"{linear_cka(unit[0], unit[1]):.3f}",
        "closest pairs": f">{expected.forest.by_scale[1].similarity:.3f}<",
        "five": f"{expected.lca.kendall:.3f}",
        "self-score": f"self-score: {expected.self_scores[1]:.3f}",
    }
    # In the order in which they are to be read.
    places = [text.index(number) for number in shown.values()]
    assert places == sorted(places), dict(zip(shown, places, strict=True))
    mean, deviation = expected.half_samples.mean, expected.half_samples.deviation
    halves = f"{mean.cophenetic.d2_to_p1:.3f} ± {deviation.cophenetic.d2_to_p1:.3f}"
    assert f"halves: {halves}" in text
    assert "VICReg and SAG-VICReg on classes they never saw" in text
    assert "Four models embed the same 288 held-out images of 48 classes (shapes)." in text


def test_two_sets_open_with_their_verdict_and_three_cards(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", source.vectors)
    text = visible(text_of(tmp_path / "a.npy", tmp_path / "b.npy", trees=8))
    agree = "The sets agree closely: forest similarity 1.00 (1.00 to 1.00); 100% of nearest"
    places = [text.index(f'class="verdict">{agree}')]
    for card in ("Forest similarity", "Neighbours shared", "Linear CKA"):
        places.append(text.index(f'card-label">{card}<'))
    places.append(text.index("Forests, from fine to coarse"))
    places.append(text.index("The paper’s five numbers"))
    assert places == sorted(places)
    assert text.count('class="card"') == 3


def test_where_there_is_no_forest_the_page_says_why(tmp_path: Path) -> None:
    vectors = embedded_images(0.3, 0, per_class=1).vectors
    for name, noise in zip("abc", (0.0, 0.2, 0.4), strict=True):
        moved = vectors + noise * np.random.default_rng(0).normal(size=vectors.shape)
        np.save(tmp_path / f"{name}.npy", moved)
    files = [tmp_path / f"{name}.npy" for name in "abc"]
    few = "No forest similarity: 48 rows, and a forest needs at least 50; "
    for some in (files[:2], files):
        text = visible(text_of(*some, trees=100))
        assert text.count(few) == 1
        assert "Forest similarity" not in text
        assert 'id="tree-plot"' in text
    assert "There is no forest similarity." in text
    assert "no trees were asked for" in text_of(*files[:2])


def test_of_many_pairs_the_most_and_the_least_alike_are_named(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    generator = np.random.default_rng(0)
    for name, noise in (("same", 0.0), ("near", 0.02), ("far", 5.0)):
        moved = source.vectors + noise * generator.normal(size=source.vectors.shape)
        np.save(tmp_path / f"{name}.npy", moved)
    constant = np.ones_like(source.vectors)
    np.save(tmp_path / "flat.npy", constant)
    files = [tmp_path / f"{name}.npy" for name in ("same", "near", "far", "flat")]
    text = visible(text_of(*files, trees=8))
    assert "Most alike by forest similarity: same.npy and near.npy, " in text
    assert re.search(r"Least: (same|near)\.npy and far\.npy, ", text)
    assert text.count("Not compared: ") == 3, "the others are still shown"
    # The forest's column comes first, before neighbours and before the five.
    heads = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert heads[:2] == ["Models", "Forest similarity"]
    assert heads.index("Linear CKA") < heads.index("LCA Pearson")


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
    assert "Not compared: " in page
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
    assert lines[0].deviations["lca.pearson"] == pytest.approx(0.1)
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


def marked(score: float, mean: float, deviation: float, **others: float) -> PageTable:
    """A table of two rows, the first with these halves."""
    values = {"lca.pearson": score, **others}
    first = ScoreRow("first", values, halves={"lca.pearson": Spread(mean, deviation)})
    second = ScoreRow("second", {"lca.pearson": -1.0})
    return score_table([first, second], FIVE, title="", note="Said.", corner="")


def test_a_mark_stands_where_half_samples_move_a_score_and_only_there() -> None:
    """A spread of 0.143 was once not marked, and one of 0.001 was."""
    for mean, deviation, unstable in (
        (0.88, 0.143, True),  # the halves differ from one another
        (0.80, 0.001, True),  # the tree of all items differs from theirs
        (0.88, 0.01, False),
        (0.87, 0.001, False),  # far by its deviation, and yet near
    ):
        table = marked(0.883, mean, deviation)
        cell = table.rows[0].cells[0]
        assert cell.text == "0.883"
        (note,) = cell.notes
        assert note.removesuffix(" †") == f"halves: {mean:.3f} ± {deviation:.3f}"
        assert note.endswith("†") == unstable
        assert ("†" in table.note) == unstable
        assert cell.best != unstable, "chance wins nothing"
    assert f"more than {UNSTABLE}" in marked(0.8, 0.5, 0.1).note


def test_a_mark_says_to_read_the_forest_where_there_is_one() -> None:
    forest = {"forest.spearman": 0.9}
    assert "read the forest similarity." in marked(0.8, 0.5, 0.1, **forest).note
    assert "one tree says little here." in marked(0.8, 0.5, 0.1).note


def test_scores_that_read_alike_are_bold_together() -> None:
    rows = [ScoreRow(str(v), {"lca.pearson": v}) for v in (0.9301, 0.9299, 0.9)]
    table = score_table(rows, FIVE, title="", note="", corner="")
    assert [row.cells[0].best for row in table.rows] == [True, True, False]
    assert table.rows[0].cells[1].text == "–"


def test_halves_are_explained_only_where_there_are_some() -> None:
    values = dict.fromkeys(FIVE, 0.883)
    halves = dict.fromkeys(FIVE, Spread(0.8, 0.05))
    for row, said in ((ScoreRow("a", values, halves=halves), True), (ScoreRow("a", values), False)):
        headline = structure_headline(
            [Compared(row, "Alike")], halves=False, half_samples=8, noun="row"
        )
        (five,) = headline.tables
        assert ("8 random halves of the rows" in five.note) == said
        assert [finding.verdict for finding in headline.findings] == ["Alike."]


def command_of(page: str) -> str:
    return unescape(page.split('<code tabindex="0">')[1].split("</code>")[0])


def test_the_command_has_every_option_that_was_given(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "a.parquet", embedded_images(0.3, 0, per_class=2))
    source, out = tmp_path / "a.parquet", tmp_path / "report.html"
    plain = shlex.join(["sag-vicreg", "report", str(source), "--out", str(out)])
    assert command_of(text_of(source, trees=100, half_samples=8)) == plain
    options = [
        "--hierarchy=shapes",
        "--embeddings=shapes-test",
        "--title=-Before & after",
        "--max-points=50",
        "--trees=8",
        "--half-samples=0",
        "--seed=3",
        "--vector-columns=vector",
        "--id-column=id",
        "--label-column=label",
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


def test_what_the_walk_pairs_has_a_chart_per_run_that_walks(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / method, method, "all") for method in ("vicreg", "sag-vicreg")]
    assert "What the walk pairs" not in text_of(*folders)
    log = Run(folders[1]).metrics
    header, *lines = log.read_text().splitlines()
    header += ",own_view_nearest,own_view_near,pair_weight,same_class_level1,same_class_level2"
    lines = [
        f"{line},0.5,0.9,0.7,{'' if step < 20 else 0.4},0.2" for step, line in enumerate(lines)
    ]
    log.write_text("\n".join([header, *lines]) + "\n")
    models = open_sources(folders).models
    (chart,) = walk_charts(models)
    assert (chart.title, chart.percent) == ("SAG-VICReg", True)
    names = [series.name for series in chart.series]
    assert names == [
        "walks to another image",
        "own view is the nearest",
        "own view is among the k nearest",
        "mean weight of a pair",
        "partner of the same group, level 1",
        "partner of the same group, level 2",
    ]
    assert len(chart.series[4].x) == 20, "before the walk there is no partner"
    # Each is drawn once; the share that walks also beside other runs'.
    titles = [each.title for each in training_charts(models)]
    assert titles.count("Non-trivial pairs") == 1
    assert not any("own view" in title or "same class" in title for title in titles)
    page = text_of(*folders)
    assert "What the walk pairs" in page
    assert "own view is the nearest" in page

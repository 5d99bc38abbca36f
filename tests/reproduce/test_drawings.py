"""Figures drawn from models and saved results: what they show is what the models say."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Result, Run
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.figures.separability import separability
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.reproduce.drawings import (
    COMPUTED,
    FROM_RESULTS,
    NUMBERS,
    FigureSources,
    draw_figure,
)
from sag_vicreg.structure import compare


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """VICReg and SAG-VICReg after a few steps on the first half of shapes."""
    from sag_vicreg.recipes import load_recipe
    from sag_vicreg.training import train

    folder = tmp_path_factory.mktemp("runs")
    few = ["schedule.steps=8", "dataset.classes=first", "monitor.measure_every=1000"]
    for method in ("vicreg", "sag-vicreg"):
        train(load_recipe(f"shapes/{method}", scale="smoke", overrides=few), folder / method)
    return [folder / "vicreg", folder / "sag-vicreg"]


def test_a_linear_probe_prefers_one_embedding_and_the_trees_the_other() -> None:
    shown = separability()
    original, scrambled, kept = shown.linear_accuracy
    assert original < 1
    assert scrambled == 1
    assert kept < 1
    # All of the paper's scores say so, not only the two in the figure's titles.
    for view, (low, high) in ((1, (-1, 0.3)), (2, (0.8, 1.1))):
        scores = compare(shown.points[0], shown.points[view], geometry="euclidean")
        assert (scores.values() > low).all()
        assert (scores.values() < high).all()
        assert scores.lca.spearman == shown.lca_spearman[view]
        assert scores.cophenetic.d1_to_p2 == shown.cophenetic[view]


def test_query_ranks_unseen_images_by_the_cosines_it_shows(runs: list[Path]) -> None:
    figure = draw_figure("2", FigureSources(runs, count=3))
    captions = [axis.get_xlabel() for axis in figure.axes]
    assert len(captions) == 1 + 2 * 3
    cosines = [float(caption.split("\n")[0].removeprefix("cosine ")) for caption in captions[1:]]
    assert cosines[:3] == sorted(cosines[:3], reverse=True)
    embeddings = next((runs[0] / "embeddings").glob("shapes-test-second*.parquet"))
    assert embeddings.is_file()
    assert [t for axis in figure.axes if (t := axis.get_title(loc="left"))] == [
        f"VICReg ({runs[0].name})",
        f"SAG-VICReg ({runs[1].name})",
    ]


def test_query_by_id_and_an_id_that_is_not_there(runs: list[Path]) -> None:
    from sag_vicreg.artifacts import read_embeddings

    draw_figure("query", FigureSources(runs, count=1))
    path = next((runs[0] / "embeddings").glob("shapes-test-second*.parquet"))
    embeddings = read_embeddings(path)
    assert embeddings.ids is not None
    assert embeddings.labels is not None
    figure = draw_figure("query", FigureSources(runs, count=1, query=str(embeddings.ids[7])))
    shown = figure.axes[0].get_xlabel().replace("\n", " ")
    assert shown == f"query: {embeddings.labels[7]}".replace("_", " ")
    with pytest.raises(InputError, match="no image 'nobody': ids are like"):
        draw_figure("query", FigureSources(runs, query="nobody"))


def test_query_shows_the_images_of_a_run_with_a_seed_of_its_own(tmp_path: Path) -> None:
    from sag_vicreg.recipes import load_recipe
    from sag_vicreg.training import train

    few = ["schedule.steps=4", "dataset.classes=first", "monitor.measure_every=1000"]
    folders = []
    for seed in (1, 2):
        overrides = [*few, f"dataset.seed={seed}"]
        folders.append(tmp_path / f"seed{seed}")
        train(load_recipe("shapes/vicreg", scale="smoke", overrides=overrides), folders[-1])
    again = shutil.copytree(folders[0], tmp_path / "again")
    figure = draw_figure("query", FigureSources([folders[0], again], count=2))
    captions = [axis.get_xlabel() for axis in figure.axes]
    assert captions[1:3] == captions[3:5]
    # Drawn images of another seed are other images: there is no common query.
    with pytest.raises(InputError, match="id"):
        draw_figure("query", FigureSources(folders, count=2))


def test_pairs_leave_their_own_image(runs: list[Path]) -> None:
    from sag_vicreg.reproduce.walks import walk_pairs

    pairs = walk_pairs(Run(runs[1]), "ours", count=4)
    assert len(pairs.starts) == 4
    for start, end in zip(pairs.starts, pairs.ends, strict=True):
        assert not np.array_equal(start, end)
    assert all(0 < weight <= 1 for weight in pairs.weights)


def test_pairs_of_a_method_without_two_views_are_refused(tmp_path: Path) -> None:
    from sag_vicreg.recipes import load_recipe
    from sag_vicreg.training import train

    few = ["schedule.steps=2", "monitor.probe_images=48"]
    train(load_recipe("shapes/mae", scale="smoke", overrides=few), tmp_path / "mae")
    with pytest.raises(InputError, match="trained mae, which embeds no two views"):
        draw_figure("pairs", FigureSources([tmp_path / "mae"]))


def test_pairs_count_the_walks_of_the_whole_batch(runs: list[Path]) -> None:
    from sag_vicreg.recipes import load_recipe
    from sag_vicreg.reproduce.walks import walk_pairs

    for folder in runs:
        # VICReg has no walk of its own: it is shown what the paper's would do.
        one, many = (walk_pairs(Run(folder), "ours", count=count) for count in (1, 10_000))
        assert (one.rows, one.k) == (load_recipe(folder / "recipe.yaml").batch_size, 5)
        assert one.left == many.left == len(many.starts)
        # Read literally, as VICReg's are, who stays had the own view among the neighbours.
        stayed = one.rows - one.left if folder.name == "vicreg" else 0
        assert stayed <= one.own_view_near <= one.rows
        assert one.own_view_nearest <= one.own_view_near
        pairs = zip(many.start_classes, many.end_classes, strict=True)
        assert one.same_class == many.same_class == sum(start == end for start, end in pairs)


def test_pairs_are_those_of_the_runs_own_reading(tmp_path: Path) -> None:
    from sag_vicreg.recipes import load_recipe
    from sag_vicreg.reproduce.walks import walk_pairs
    from sag_vicreg.training import train

    few = ["schedule.steps=2", "monitor.probe_images=48"]
    walks = {
        "literal": "method={around: view}",
        "own view": "method={around: own_view, walk_after: 0}",
    }
    shown = {}
    for name, walk in walks.items():
        recipe = load_recipe("shapes/sag-vicreg-literal", scale="smoke", overrides=[*few, walk])
        run = Run(train(recipe, tmp_path / name).folder)
        shown[name] = walk_pairs(run, name, count=1000)
    assert shown["own view"].left < shown["literal"].left, "around itself more rows stay"


def test_pairs_of_a_peer_that_does_not_walk_are_the_papers_as_vicregs_are(tmp_path: Path) -> None:
    from sag_vicreg.recipes import load_recipe
    from sag_vicreg.reproduce.walks import walk_pairs
    from sag_vicreg.training import train

    few = ["schedule.steps=2", "monitor.probe_images=48"]
    left = {}
    for pairing in ("views", "random_walk"):
        overrides = [*few, f"method.pairing={pairing}", "optimizer.base_lr=1e-9"]
        recipe = load_recipe("shapes/simclr", scale="smoke", overrides=overrides)
        run = Run(train(recipe, tmp_path / pairing).folder)
        left[pairing] = walk_pairs(run, pairing).left
    assert left["random_walk"] < left["views"], "of the same network"


def test_pairs_are_titled_with_what_they_are_and_drawn_of_one_run(runs: list[Path]) -> None:
    title = draw_figure("3", FigureSources(runs[:1], count=2)).get_suptitle()
    assert title.startswith("VICReg: ")
    assert "walks leave their image" in title
    with pytest.raises(InputError, match="one run folder"):
        draw_figure("pairs", FigureSources(runs))


@pytest.mark.usefixtures("quick_maps")
def test_centroids_have_a_panel_a_model_and_every_class(runs: list[Path], tmp_path: Path) -> None:
    # The half neither has seen, which nobody needs to name, nor the dataset.
    figure = draw_figure("centroids", FigureSources(runs))
    assert [axis.get_title() for axis in figure.axes] == [
        "VICReg, trained on shapes, first half",
        "SAG-VICReg, trained on shapes, first half",
    ]
    for axis in figure.axes:
        assert sum(len(points.get_offsets()) for points in axis.collections) == 24
    again = shutil.copytree(runs[0], tmp_path / "again")
    alike = draw_figure("centroids", FigureSources([runs[0], again], dataset="shapes"))
    assert alike.axes[1].get_title() == f"VICReg, trained on shapes, first half ({again.name})"


@pytest.mark.parametrize("dataset", ["caltech256", "shapes", "digits"])
def test_classes_are_coloured_by_group_and_a_set_without_a_tree_has_none(
    dataset: str,
) -> None:
    from sag_vicreg.reproduce.centroids import CALTECH_GROUPS, group_of_class

    grouped = group_of_class(dataset)
    if dataset == "caltech256":
        assert grouped["087.goldfish"] == "aquatic"
        assert set(grouped) == {c for classes in CALTECH_GROUPS.values() for c in classes}
    elif dataset == "shapes":
        assert set(grouped) == set(load_hierarchy("shapes").classes)
        assert set(grouped.values()) == set(load_hierarchy("shapes").names_at(1))
    else:
        assert not grouped


def rand_result(method: str, seed: int, value: float, family: str = "f") -> Result:
    places = [f"level{n}" for n in (1, 2, 3, 4)] + [f"clusters{n}" for n in range(20, 201, 20)]
    return Result(
        kind="rand",
        key=f"{family}{method}{seed}",
        family=f"{family}{method}",
        method=method,
        seed=seed,
        images={"dataset": "cifar100"},
        options={},
        models=[],
        n_images=10,
        scores={f"{m}.{place}": value for m in ("rand", "ari") for place in places},
        half_samples={},
        seconds={},
        versions={},
        measures=[],
    )


@pytest.mark.parametrize(("name", "places"), [("4a", 4), ("rand-clusters", 10)])
def test_rand_curves_are_means_over_seeds(tmp_path: Path, name: str, places: int) -> None:
    for method, value in (("vicreg", 0.5), ("sag-vicreg", 0.7)):
        for seed in (0, 1):
            rand_result(method, seed, value + 0.1 * seed).write(tmp_path / "results")
    figure = draw_figure(name, FigureSources([tmp_path]))
    plain, adjusted = figure.axes
    rises = "Chance alone raises the plain Rand index with the number of clusters"
    assert rises in " ".join(figure.get_suptitle().split())
    assert plain.get_title().startswith("Rand index")
    assert adjusted.get_title().startswith("Adjusted Rand index")
    vicreg, ours = (container.lines[0] for container in plain.containers)
    assert list(vicreg.get_ydata()) == pytest.approx([0.55] * places)
    assert list(ours.get_ydata()) == pytest.approx([0.75] * places)


def test_rand_results_of_mixed_recipes_are_refused(tmp_path: Path) -> None:
    rand_result("vicreg", 0, 0.5).write(tmp_path)
    rand_result("vicreg", 1, 0.5, family="longer").write(tmp_path)
    with pytest.raises(InputError, match="different recipes"):
        draw_figure("4a", FigureSources([tmp_path]))


def test_every_printed_number_is_a_figure() -> None:
    assert {*NUMBERS.values(), "reconstructions"} == {*COMPUTED, *FROM_RESULTS}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["7"], "unknown figure '7': Valid: spectral, query"),
        (["querry"], "did you mean 'query'"),
        (
            ["query"],
            "two or more models, and none was given: `sag-vicreg figure query RUN RUN`",
        ),
        (["query", "one"], "two or more models, and 1 was given"),
        (["pairs"], "is drawn from a run folder"),
        (["reconstructions"], "is drawn from a run folder"),
        (["4a"], "no Rand results in nowhere"),
        (["separability", "--out", "x.gif"], "must end in .png"),
        (["query", "nothing", "here"], "nothing is not a run folder"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["figure", *arguments])
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_the_command_draws(tmp_path: Path) -> None:
    out = tmp_path / "five.svg"
    done = CliRunner().invoke(app, ["figure", "5", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "embedding 2" in out.read_text()


def test_a_figure_is_drawn_again_from_what_was_kept(runs: list[Path], tmp_path: Path) -> None:
    first, again = tmp_path / "first.svg", tmp_path / "again.svg"
    drawn = CliRunner().invoke(app, ["figure", "3", str(runs[1]), "--out", str(first)])
    assert drawn.exit_code == 0, drawn.output
    kept = first.with_suffix(".npz")
    drawn = CliRunner().invoke(app, ["figure", "pairs", str(kept), "--out", str(again)])
    assert drawn.exit_code == 0, drawn.output
    assert without_date(again) == without_date(first)
    # Of another figure's data nothing is drawn.
    drawn = CliRunner().invoke(app, ["figure", "query", str(kept), "--out", str(again)])
    assert drawn.exit_code == 2
    assert (
        f"{kept} is not the data of such a figure (it is of another figure than Query)"
        in drawn.stderr
    )


def without_date(picture: Path) -> str:
    return re.sub(r"<dc:date>.*?</dc:date>", "", picture.read_text())

"""`reproduce` end to end on `shapes`: killed in the middle, resumed, and to the same table."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from sag_vicreg.cli import app
from sag_vicreg.recipes import Recipe, load_recipe
from sag_vicreg.reproduce import Choices
from sag_vicreg.reproduce.overhead import overhead_table

Here = Callable[[], AbstractContextManager[None]]
TABLE = ["table1", "--dataset", "shapes", "--scale", "smoke"]
# One method, two models; nothing is measured on the way.
ONE = [*TABLE, "--methods", "sag-vicreg", "--set", "monitor.measure_every=1000"]
SCORES = {
    *("lca.pearson", "lca.spearman", "lca.kendall"),
    *("cophenetic.d1_to_p2", "cophenetic.d2_to_p1"),
}
FOREST = {
    *(f"forest.{name}" for name in ("spearman", "pearson", "low", "high", "error")),
    *(f"forest.shared.{name}" for name in ("spearman", "pearson", "kendall")),
    *(f"forest.reliability.{name}" for name in ("first", "second")),
}


def reproduce(*arguments: str) -> str:
    """Run the command to its end; return what it prints."""
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, in_this_process: Here) -> Path:
    """Table 1 of one method, never interrupted; the first test that asks for it pays for it."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with in_this_process():
        assert reproduce(*ONE, "--out", str(out)).count("done: training") == 2
    return out


def table_of(out: Path) -> str:
    return (out / "tables" / "table1-smoke-shapes-sag-vicreg.csv").read_text()


@pytest.mark.slow
def test_what_is_done_is_not_done_again(whole: Path) -> None:
    backbones = sorted(whole.glob("models/*/backbone.safetensors"))
    stamps = [path.stat().st_mtime_ns for path in backbones]
    assert "done:" not in reproduce(*ONE, "--out", str(whole))
    # Table 2 stands on the same evaluations.
    other = reproduce("table2", *ONE[1:], "--out", str(whole))
    assert "done:" not in other
    assert "D1 to P2" in other
    assert [path.stat().st_mtime_ns for path in backbones] == stamps


@pytest.mark.slow
def test_table1_killed_in_the_middle_and_resumed_is_the_same_table(
    tmp_path: Path, whole: Path, in_this_process: Here
) -> None:
    grid = subprocess.Popen(
        [sys.executable, "-m", "sag_vicreg", "reproduce", *ONE, "--jobs", "2", "--out", "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    out = tmp_path / "killed"
    # Once a model has a checkpoint behind it, pull the plug on everything.
    while not list(out.glob("models/*/checkpoints/step-*.pt")):
        assert grid.poll() is None, "the grid ended before it could be killed"
        time.sleep(0.02)
    os.killpg(grid.pid, signal.SIGKILL)
    grid.wait()
    assert not list(out.glob("tables/*"))
    assert not list(out.glob("results/*"))

    with in_this_process():
        reproduce(*ONE, "--jobs", "2", "--out", str(out))
    assert table_of(out) == table_of(whole)


@pytest.mark.slow
def test_published_results_need_no_model(tmp_path: Path, whole: Path) -> None:
    results, elsewhere = whole / "results", tmp_path / "elsewhere"
    reproduce(*ONE, "--out", str(elsewhere), "--published", str(results))
    assert not (elsewhere / "models").exists()
    assert table_of(elsewhere) == table_of(whole)
    content = json.loads(next(results.glob("*.json")).read_text())
    assert set(content["scores"]) == SCORES | FOREST
    assert content["scores"]["forest.low"] <= content["scores"]["forest.spearman"]
    assert content["options"]["forest"] == {"trees": 100, "distance": "size", "max_images": 2000}
    assert set(content["half_samples"]) == SCORES
    assert [model["dataset"]["classes"] for model in content["models"]] == ["first", "second"]
    assert content["n_images"] == 1200


@pytest.mark.slow
def test_the_grid_goes_out_through_submitit(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole / "models", out / "models")
    cluster = ["--cluster", "local", "--cluster-option", "timeout_min=60"]
    assert reproduce(*ONE, "--out", str(out), *cluster).count("done: structure") == 1
    assert list((out / "cluster").iterdir())
    assert table_of(out) == table_of(whole)


@pytest.mark.slow
def test_tables_by_level_and_rand_figures_share_one_model(
    tmp_path: Path, in_this_process: Here
) -> None:
    targets = ["table4", "table5", "fig4a", "fig4b"]
    with in_this_process():
        said = reproduce(*targets, *ONE[1:], "--out", str(tmp_path / "out"))
    assert said.count("done: training") == 1
    for name, columns in (("table4", 4), ("table5", 4), ("fig4a", 4), ("fig4b", 10)):
        means = [float(line.split(",")[4]) for line in lines_of(tmp_path, name)]
        assert len(means) == columns
        assert all(0 < mean < (100 if name.startswith("table") else 1) for mean in means)
    knn = [float(line.split(",")[4]) for line in lines_of(tmp_path, "table4")]
    assert knn == sorted(knn, reverse=True), "coarser levels are easier"


def lines_of(folder: Path, name: str) -> list[str]:
    table = folder / "out" / "tables" / f"{name}-smoke-shapes-sag-vicreg.csv"
    return table.read_text().splitlines()[1:]


@pytest.mark.slow
def test_a_dry_run_counts_measures_and_trains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = reproduce(*TABLE, "table2", "--methods", "vicreg", "--dry-run")
    assert "table1: 1 evaluations, 0 done; 2 models to train, 0 trained" in said
    assert "table2: 1 evaluations, 0 done; 2 models to train, 0 trained" in said
    # Both tables are of the same two models.
    assert said.count("20 steps of 48") == 2
    assert "estimated time with 1 at once: about" in said
    assert list(tmp_path.iterdir()) == []


def test_the_overhead_is_measured_not_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["reproduce", "overhead", "--dry-run"])
    assert done.exit_code == 0
    assert "estimated time" not in done.stdout
    # One turn of each is not the point here: what it asks for and what it leaves behind is.
    measured = "sag_vicreg.reproduce.requests.measure_overhead"
    turns = {"simclr": [(0.5, 100.0)], "vicreg": [(0.4, 90.0)]}
    table = overhead_table(turns, scale="smoke", dataset="shapes", steps_per_epoch=48)
    with patch(measured, return_value=table) as measure:
        arguments = ["--dataset", "shapes", "--scale", "smoke", "--seeds", "4"]
        arguments += ["--methods", "simclr", "--methods", "vicreg"]
        done = CliRunner().invoke(app, ["reproduce", "overhead", *arguments])
    measure.assert_called_once_with("smoke", "shapes", methods=["simclr", "vicreg"], seeds=4)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "reproduction/tables/overhead-shapes-smoke-simclr-vicreg.md").is_file()


def test_no_run_prints_what_there_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", *TABLE, "--no-run", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert "Unfinished: 4 of 4 evaluations." in done.stdout


def test_what_any_target_cannot_do_is_said_before_the_first_is_begun(tmp_path: Path) -> None:
    # Table 1 could run for days before table 3 finds that it has no such dataset.
    out = ["--out", str(tmp_path / "out"), "--scale", "smoke"]
    assert "table3" in printed("table1", "table3", "--dataset", "caltech256", *out)
    assert not (tmp_path / "out").exists()


def test_a_target_is_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sag_vicreg.reproduce import plan

    loaded = []

    def load(name: str, **options: object) -> Recipe:
        loaded.append(name)
        return load_recipe(name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(plan, "load_recipe", load)
    arguments = ["table1", "--dataset", "shapes", "--scale", "smoke", "--methods", "vicreg"]
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--no-run", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert loaded == ["shapes/vicreg"] * 2, "two models, each of one half of the classes"


def test_tables_of_other_choices_have_other_names() -> None:
    labels = [
        Choices().label,
        Choices(datasets=["caltech256"]).label,
        Choices(images="train").label,
        Choices(methods=["vicreg"], seeds=3).label,
        Choices(overrides=["method.k=3"]).label,
        Choices(overrides=["method.k=7"]).label,
    ]
    assert labels[:4] == ["cpu", "cpu-caltech256", "cpu-train", "cpu-vicreg"]
    assert len(set(labels)) == 6
    assert Choices(overrides=["monitor.log_every=5"]).label == "cpu"


def test_an_option_for_the_cluster_that_is_not_yaml_is_one_line() -> None:
    message = printed(*TABLE, "--cluster", "slurm", "--cluster-option", "slurm_setup=[")
    assert "the option 'slurm_setup=[' is not YAML" in message
    assert message.count("\n") == 1


def test_an_unknown_table_lists_the_valid_ones() -> None:
    message = printed("tabel1")
    assert "did you mean 'table1'?" in message
    assert "fig4b, overhead" in message


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (["replication"], "stages`"),
        (["replication", "--publish", "--jobs", "2"], "stages --publish`"),
        (["lr-search", "halves"], "stages lr-search halves`"),
        ([*TABLE, "--publish"], "stages --publish`"),
    ],
)
def test_the_replication_says_where_it_went(arguments: list[str], instead: str) -> None:
    message = printed(*arguments)
    assert f"the replication has left the package: run `python -m replication {instead}" in message
    assert message.count("\n") == 1


def test_a_missing_dataset_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAG_VICREG_DATA", str(tmp_path / "nowhere"))
    out = ["--out", str(tmp_path)]
    assert str(tmp_path / "nowhere") in printed("table1", *out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table1", "--scale", "huge"], "unknown scale 'huge'"),
        (["table1", "--seeds", "0"], "at least one seed"),
        (["table1", "--set", "optimizer.lr=1"], "optimizer.lr"),
        (["table1", "--cluster-option", "partition"], "write key=value"),
        (["table1", "--dataset", "mnist"], "unknown dataset for table1 'mnist'"),
        (["table4", "--pretrain", "shapes", "--dataset", "cifar100"], "evaluated on shapes"),
        (["overhead", "--images", "train"], "overhead does not take --images (only --scale"),
        (["overhead", "--methods", "nobody"], "unknown method of overhead 'nobody'"),
        (["table1", "--out", "/dev/null/x"], "cannot write /dev/null/x/workers.log"),
    ],
)
def test_bad_options_are_one_line(arguments: list[str], message: str) -> None:
    assert message in printed(*arguments, "--no-run")

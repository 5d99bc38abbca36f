"""`reproduce` end to end on `shapes`: killed in the middle, resumed, and to the same table."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sag_vicreg.cli import app

TABLE = ["table1", "--dataset", "shapes", "--scale", "smoke"]


def reproduce(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sag_vicreg", "reproduce", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.mark.slow
def test_table1_killed_in_the_middle_and_resumed_is_the_same_table(tmp_path: Path) -> None:
    two = [*TABLE, "--methods", "vicreg", "--methods", "sag-vicreg"]
    whole = reproduce(*two, "--out", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    expected = (tmp_path / "whole" / "tables" / "table1.csv").read_text()

    command = [sys.executable, "-m", "sag_vicreg", "reproduce", *two, "--out", "killed"]
    grid = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
    )
    models = tmp_path / "killed" / "models"
    # Wait for a second model to have made its first steps, then pull the plug on everything.
    deadline = time.monotonic() + 120
    while len(list(models.glob("*/checkpoints/step-*.pt"))) < 2 and time.monotonic() < deadline:
        assert grid.poll() is None, "the grid ended before it could be killed"
        time.sleep(0.02)
    os.killpg(grid.pid, signal.SIGKILL)
    grid.wait()
    assert not list((tmp_path / "killed").glob("tables/*"))
    finished_before = {path.parent.name for path in models.glob("*/backbone.safetensors")}
    stamps = {
        name: (models / name / "backbone.safetensors").stat().st_mtime_ns
        for name in finished_before
    }

    resumed = reproduce(*two, "--out", "killed", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert (tmp_path / "killed" / "tables" / "table1.csv").read_text() == expected
    for name, stamp in stamps.items():
        assert (models / name / "backbone.safetensors").stat().st_mtime_ns == stamp

    # A third time there is nothing to do, with any sort of worker.
    again = reproduce(*two, "--out", "killed", "--jobs", "2", cwd=tmp_path)
    assert again.returncode == 0
    assert "training" not in again.stdout

    # Table 2 stands on the same evaluations: nothing is trained for it.
    other = reproduce("table2", *two[1:], "--out", "killed", cwd=tmp_path)
    assert other.returncode == 0
    assert "training" not in other.stdout
    assert "D1 to P2" in other.stdout

    # Results alone are enough where the models are gone.
    results = tmp_path / "killed" / "results"
    third = reproduce(*two, "--out", "elsewhere", "--published", str(results), cwd=tmp_path)
    assert third.returncode == 0
    assert not (tmp_path / "elsewhere" / "models").exists()
    content = json.loads(next(results.glob("*.json")).read_text())
    assert set(content["scores"]) == {
        *("lca.pearson", "lca.spearman", "lca.kendall"),
        *("cophenetic.d1_to_p2", "cophenetic.d2_to_p1"),
    }
    assert set(content["half_samples"]) == set(content["scores"])


@pytest.mark.slow
def test_a_grid_goes_out_through_submitit(tmp_path: Path) -> None:
    one = [*TABLE, "--methods", "vicreg", "--out", "out", "--jobs", "2", "--cluster", "local"]
    done = reproduce(*one, "--cluster-option", "timeout_min=5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(list((tmp_path / "out" / "results").glob("*.json"))) == 1
    assert list((tmp_path / "out" / "cluster").iterdir())


@pytest.mark.slow
def test_a_dry_run_counts_measures_and_trains_nothing(tmp_path: Path) -> None:
    done = reproduce(*TABLE, "--methods", "vicreg", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "table1: 1 evaluations, 0 done; 2 models to train, 0 trained" in done.stdout
    assert "20 steps of 48" in done.stdout
    assert "estimated time with 1 at once: about" in done.stdout
    assert not (tmp_path / "reproduction" / "models").exists()


def test_no_run_prints_what_there_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", *TABLE, "--no-run", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert "Unfinished: 4 of 4 evaluations." in done.stdout


def test_an_unknown_table_lists_the_valid_ones() -> None:
    message = printed("tabel1")
    assert "did you mean 'table1'?" in message
    assert "fig4b, overhead, lr-search" in message


def test_a_missing_dataset_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAG_VICREG_DATA", str(tmp_path / "nowhere"))
    out = ["--out", str(tmp_path), "--published", str(tmp_path)]
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
    ],
)
def test_bad_options_are_one_line(arguments: list[str], message: str) -> None:
    assert message in printed(*arguments, "--no-run")

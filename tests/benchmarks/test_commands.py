"""``python -m benchmarks`` as a developer types it, and what is left of ``sag-vicreg bench``."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.commands import app
from sag_vicreg.cli import app as package

ROOT = Path(__file__).parents[2]


def test_the_module_runs_and_lists_its_benchmarks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert names >= {"views", "loss", "structure", "structure_large", "training", "evaluation"}
    for name in names:
        assert name.replace("_", "-") in done.stdout


def test_a_mistake_is_one_line_and_exit_code_2() -> None:
    command = ["structure-large", "--n", "200", "--geometry", "cosin"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "did you mean 'cosine'?" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [[], ["loss"], ["structure", "--n", "500"], ["--help"], ["loss", "--help"]]
)
def test_the_removed_command_says_what_to_run_instead(arguments: list[str]) -> None:
    done = CliRunner().invoke(package, ["bench", *arguments], prog_name="sag-vicreg")
    assert done.exit_code == 2
    assert shlex.join(["python", "-m", "benchmarks", *arguments]) + "`" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "bench" not in CliRunner().invoke(package, ["--help"]).output


def test_make_bench_records_every_result_that_is_kept() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recorded = re.findall(r"--out \$\(RESULTS\)/(\S+)", makefile)
    assert sorted(recorded) == sorted(path.name for path in (ROOT / "benchmarks/results").iterdir())

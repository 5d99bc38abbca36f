"""The short check of files in every `compare`: notes where something is odd, nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.cli import app

PLAIN = np.random.default_rng(0).normal(size=(60, 5))
ODD = PLAIN.copy()
ODD[7] = ODD[3]
ODD[:, 4] = 0.5


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, vectors in {"plain": PLAIN, "twice": 2 * PLAIN, "odd": ODD}.items():
        np.save(f"{name}.npy", vectors)


def compared(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["compare", *arguments, "--trees", "8"])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.usefixtures("files")
def test_what_is_odd_is_noted_below_the_tables() -> None:
    assert "note:" not in compared("plain.npy", "twice.npy")
    expected = [
        "note: odd.npy: 1 row repeats an earlier row exactly",
        "note: odd.npy: 1 dimension never changes",
    ]
    assert compared("plain.npy", "odd.npy").splitlines()[-2:] == expected
    assert compared("plain.npy", "twice.npy", "odd.npy").splitlines()[-2:] == expected


@pytest.mark.usefixtures("files")
def test_json_holds_the_whole_check() -> None:
    found = json.loads(compared("plain.npy", "odd.npy", "--json"))["checks"]
    assert [each["rows"] for each in found] == [60, 60]
    assert found[0]["oddities"] == []
    assert found[1]["duplicates"] == 1


def test_a_check_loads_nothing_that_a_comparison_would_not() -> None:
    """A small comparison is mostly imports: the check must add none of the heavy ones."""
    script = (
        "import sys, numpy as np\n"
        "from sag_vicreg.artifacts import Embeddings\n"
        "from sag_vicreg.decisions import check_set\n"
        "check_set(Embeddings(np.eye(60, 5) + 1), 'x')\n"
        "heavy = {'numba', 'sklearn', 'matplotlib', 'torch', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr

"""`check` and `gate` hold a stated memory: the peak of a process, on a table ten times larger."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tables import write_inflated

ROWS, DIMENSIONS, REPEATED = 4_000, 4_096, 256
# A gate also holds what a forest is grown and compared with.
CHECK_MEMORY, CHECK_FILES = 260_000_000, 20
GATE_MEMORY, GATE_FILES = 330_000_000, 26

RUN = """
import atexit, sys
from sag_vicreg.cli import main
from sag_vicreg.machine import peak_bytes

atexit.register(lambda: print(peak_bytes(), file=sys.stderr))
main()
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no peak of a process's own"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A large table, and a small one of the same directions."""
    folder = tmp_path_factory.mktemp("large")
    small = np.random.default_rng(0).normal(size=(ROWS, DIMENSIONS // REPEATED))
    write_inflated(folder, small, repeated=REPEATED, files=GATE_FILES)
    np.save(folder / "small.npy", np.tile(small, (GATE_FILES, 1)))
    return folder


def run(*arguments: str | Path, memory: int) -> tuple[dict, int]:
    """Run a command, and return its JSON and its peak."""
    limit = ("--memory", str(memory), "--json")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments), *limit],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # each thread reads a block of its own
    )
    return json.loads(done.stdout), int(done.stderr.splitlines()[-1])


def test_check_holds_its_memory(folder: Path) -> None:
    few = folder / "part-[01]?.parquet"
    found, peak = run("check", few, memory=CHECK_MEMORY)
    (checked,) = found["files"]
    assert checked["rows"] == CHECK_FILES * ROWS
    assert checked["rows"] * DIMENSIONS * 8 >= 10 * CHECK_MEMORY
    assert peak <= CHECK_MEMORY
    assert checked["duplicates"] == (CHECK_FILES - 1) * ROWS


def test_gate_holds_its_memory(folder: Path) -> None:
    both = (folder / "part-*.parquet", folder / "small.npy")
    found, peak = run("gate", *both, "--items", "60", "--trees", "8", memory=GATE_MEMORY)
    assert GATE_FILES * ROWS * DIMENSIONS * 8 >= 10 * GATE_MEMORY
    assert peak <= GATE_MEMORY
    # Repeating each number leaves all directions alone.
    assert found["outcome"] == "pass"
    assert found["forest"]["spearman"] == pytest.approx(1, abs=1e-6)

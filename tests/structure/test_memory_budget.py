"""A stated memory holds: the peak of a process of its own, on a table ten times larger."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tables import write_inflated

# In double precision: as many bytes are half as many numbers to look at.
ROWS, DIMENSIONS, REPEATED, FILES = 12_500, 4_096, 256, 9
# How much of the libraries is mapped differs by 50 MB between machines: it counts, too.
MEMORY = 360_000_000

RUN = """
import json, sys
from sag_vicreg.artifacts import open_table
from sag_vicreg.machine import peak_bytes
from sag_vicreg.structure import compare_tables

a, b = open_table(sys.argv[1]), open_table(sys.argv[2])
memory = int(sys.argv[3]) or None
s = compare_tables(a, b, anchors=50, leaves=200, trees=4, sets=2, memory=memory)
print(json.dumps({"bytes": a.rows * a.row_bytes, "peak": peak_bytes(), "by_set": s.by_set}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no peak of a process's own")
def test_a_table_ten_times_larger_than_the_memory(tmp_path: Path) -> None:
    """The large table has the directions of the small one."""
    rng = np.random.default_rng(0)
    small = rng.normal(size=(ROWS, DIMENSIONS // REPEATED)).astype(np.float16).astype(np.float64)
    folder = tmp_path / "large"
    write_inflated(folder, small, repeated=REPEATED, files=FILES)
    np.save(tmp_path / "small.npy", np.tile(small, (FILES, 1)))

    def run(memory: int) -> dict:
        arguments = [str(folder), str(tmp_path / "small.npy"), str(memory)]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    found = run(MEMORY)
    assert found["bytes"] >= 10 * MEMORY
    assert found["peak"] <= MEMORY
    assert found["by_set"] == pytest.approx([1.0, 1.0], abs=0.05)

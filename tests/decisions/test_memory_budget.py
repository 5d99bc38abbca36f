"""Checks and decisions keep to a stated memory, on a table ten times larger."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tables import as_table

ROWS, DIMENSIONS, REPEATED, FILES = 8_000, 4_096, 256, 25
MEMORY = 320_000_000

RUN = """
import json, sys
from sag_vicreg.artifacts import open_table
from sag_vicreg.cli.large import read_to_decide
from sag_vicreg.decisions import Settings, check_set, gate
from sag_vicreg.machine import peak_bytes

folder, memory = sys.argv[1], int(sys.argv[2])
columns = {"vector_columns": None, "id_column": None, "label_column": None}
settings = Settings(items=100, trees=4)
sets, rows = read_to_decide([folder, folder], settings, memory=str(memory), **columns)
decision = gate(*(each.vectors for each in sets), settings=settings, sampled_of=rows)
table = open_table(folder)
found = check_set(table, "x", memory=memory)
print(json.dumps({"bytes": rows * table.row_bytes, "peak": peak_bytes(),
                  "outcome": decision.outcome, "found": found.to_dict()}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no peak of a process's own")
def test_a_table_ten_times_larger_than_the_memory(tmp_path: Path) -> None:
    """Each number is repeated: that takes no room in a file, and all of it when it is read."""
    rng = np.random.default_rng(0)
    small = rng.normal(size=(ROWS, DIMENSIONS // REPEATED)).astype(np.float32)
    folder = tmp_path / "large"
    folder.mkdir()
    first = folder / "part-0.parquet"
    with pq.ParquetWriter(first, as_table(small[:1].repeat(REPEATED, axis=1)).schema) as writer:
        for rows in np.array_split(small, 8):
            writer.write_table(as_table(rows.repeat(REPEATED, axis=1)))
    for number in range(1, FILES):
        os.link(first, folder / f"part-{number}.parquet")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder), str(MEMORY)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["bytes"] >= 10 * MEMORY
    assert said["peak"] <= MEMORY
    assert said["outcome"] == "pass"
    found = said["found"]
    assert found["rows"] == FILES * ROWS
    assert found["duplicates"] == (FILES - 1) * ROWS
    assert 100 <= found["sampled"] < ROWS

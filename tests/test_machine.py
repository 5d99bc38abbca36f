"""The machine: memory that is held while a training runs, and given back after it."""

import json
import platform
import subprocess
import sys

import pytest

# Blocks as large as a layer's activations, freed and asked for again as by the next step.
MEASURED = """
import json, resource
import numpy as np
from sag_vicreg.machine import holding_memory, resident_bytes

def faults_of_a_step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(2**20) for _ in range(8)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

start = resident_bytes()
plain = [faults_of_a_step() for _ in range(6)]
with holding_memory():
    held = [faults_of_a_step() for _ in range(6)]
    during = resident_bytes() - start
after = resident_bytes() - start
print(json.dumps([plain, held, during, after]))
"""
BLOCKS = 8 * 8 * 2**20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is set")
def test_memory_is_held_from_step_to_step_and_given_back_at_the_end() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True
    )
    plain, held, during, after = json.loads(ran.stdout)
    assert sum(plain[1:]) > 10 * sum(held[1:])
    assert during > 0.9 * BLOCKS
    assert after < 0.1 * BLOCKS

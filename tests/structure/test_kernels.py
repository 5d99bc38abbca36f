"""Loading kernels: one thread at a time, whoever asks first."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sag_vicreg.compiling import loading
from sag_vicreg.structure import kernels

FOREST_FIRST = """
import numpy as np
from sag_vicreg.structure import ward_forest
x = np.random.default_rng(0).normal(size=(700, 4))
print(ward_forest(x, trees=8, geometry="euclidean").trees)
"""
KERNELS_FIRST = """
import threading
from sag_vicreg.structure.kernels import kernel
together = threading.Barrier(2)
def load(name):
    together.wait()
    kernel(name)
threads = [threading.Thread(target=load, args=[name]) for name in ("chain", "forest")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(8)
"""


@pytest.mark.parametrize("program", [FOREST_FIRST, KERNELS_FIRST])
def test_two_threads_may_load_the_first_kernels_at_once(program: str) -> None:
    """Imports of numba have waited for each other for ever."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "8\n"


def test_all_are_compiled_at_once() -> None:
    kernels.compile_all()
    files = Path(kernels.__file__).parent.glob("[!_]*.py")
    assert {f"{kernels.__name__}.{file.stem}" for file in files} <= sys.modules.keys()


def test_a_second_thread_waits_while_the_first_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def load(name: str) -> str:
        inside.set()
        go_on.wait()
        return name

    monkeypatch.setattr("importlib.import_module", load)
    first = threading.Thread(target=kernels.kernel.__wrapped__, args=["first"])
    first.start()
    inside.wait()
    taken = loading.acquire(blocking=False)
    go_on.set()
    first.join()
    assert not taken
    assert kernels.kernel.__wrapped__("second").endswith(".second")


def test_a_cached_kernel_loads_without_the_compiler() -> None:
    """Its registries take longer to import than everything else of a small comparison."""
    program = """
import sys
import numpy as np
from sag_vicreg.structure import compare
x = np.random.default_rng(0).normal(size=(60, 4))
print(compare(x, 2 * x, trees=8).lca.spearman, "numba.np.linalg" in sys.modules)
"""
    for _ in range(2):  # the first may have to compile
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
    assert (done.stdout, done.stderr) == ("1.0 False\n", "")

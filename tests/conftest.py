import gc
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sag_vicreg.machine import available_bytes

# Files of tests stay in memory where there is plenty: a slow disk took a third of the time of tests
# that write much. Where memory may not hold programs, as some containers have it, the disk does.
MEMORY, PLENTY = Path("/dev/shm"), 8 << 30
if (
    MEMORY.is_dir()
    and min(shutil.disk_usage(MEMORY).free, available_bytes() or 0) > PLENTY
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ.setdefault("TMPDIR", str(MEMORY))
    tempfile.tempdir = None  # which was read before this file was

# UMAP's numba gives PyTorch its own number of threads, one per core, and threads that outnumber the
# free cores wait for each other in busy loops: a page's training then took ten times its seconds.
if "OMP_NUM_THREADS" in os.environ:
    os.environ.setdefault("NUMBA_NUM_THREADS", os.environ["OMP_NUM_THREADS"])

# No test depends on the clock: how long an example takes says nothing about what it found.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")


def pytest_collection_finish() -> None:
    """Take what all tests import out of every later search for garbage: it stays to the end."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or leaves files in the user's cache; the processes of one run share theirs."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_VICREG_CACHE", str(shared / "cache"))
        yield


@pytest.fixture(scope="session")
def processes(_own_cache: None) -> ForkServerContext:
    """Processes of their own, of one thread, which can be killed: forked, they import nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sag_vicreg.training", "sag_vicreg.data"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        forkserver.ensure_running()
    return context


@pytest.fixture(autouse=True, scope="session")
def _drawn_once() -> Iterator[None]:
    """Draw the images of ``shapes`` once per process: most small trainings ask for the same few.

    What is drawn has its own tests, which call `draw_shapes` themselves.
    """
    from sag_vicreg.data.sources import shapes

    draw = shapes.draw_shapes

    @lru_cache(maxsize=64)
    def drawn(split: str, classes: tuple[int, ...], **numbers: int) -> tuple[np.ndarray, ...]:
        return draw(split, classes=classes, **numbers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            shapes,
            "draw_shapes",
            lambda split, *, classes, **numbers: tuple(
                each.copy() for each in drawn(split, tuple(classes.tolist()), **numbers)
            ),
        )
        yield


@pytest.fixture
def quick_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """UMAP has its own tests; elsewhere its compilation, anew in every process, is spared."""
    for module in ("evaluation.plane", "report.maps"):
        monkeypatch.setattr(
            f"sag_vicreg.{module}.project", lambda v, seed: np.asarray(v[:, :2], dtype=np.float32)
        )


def _real(name: str) -> Path:
    """Find a real dataset; tests that ask for one that is not there skip and say so."""
    root = os.environ.get("SAG_VICREG_DATA")
    if not root:
        pytest.skip("SAG_VICREG_DATA is not set: no real datasets on this machine")
    if not (folder := Path(root) / name).is_dir():
        pytest.skip(f"no {name} under {root}")
    return folder


@pytest.fixture(scope="session")
def real_cifar100() -> Path:
    return _real("cifar100")


@pytest.fixture(scope="session")
def real_caltech256() -> Path:
    return _real("caltech256")


@pytest.fixture(scope="session")
def real_imagenet() -> Path:
    return _real("imagenet")

"""Passes on a real Dask cluster of two processes, one of which is killed in the middle."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.artifacts import open_table
from sag_vicreg.cluster import ClusterPasses, open_passes
from sag_vicreg.decisions import check_set
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure import compare_clusters, compare_tables
from tables import names_of, two_sets, write_folder

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

N = 1_500
SMALL = {"anchors": 60, "leaves": 150, "trees": 4, "sets": 2}


@pytest.fixture(scope="module")
def client() -> Iterator["distributed.Client"]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    a, b = two_sets(N)
    order = np.random.default_rng(1).permutation(N)
    return [
        write_folder(tmp_path / "a", a, names_of(N), row_group=50),
        write_folder(tmp_path / "b", b[order], names_of(N)[order], row_group=50),
    ]


class OneIsKilled(ClusterPasses):
    """Kills a worker once the first result of a pass over the rows is there."""

    killed: int | None = None

    def __init__(self, client: "distributed.Client") -> None:
        super().__init__(client)
        self.run_on_workers = client.run

    def map(self, task, items, *, bar=None):
        for result in super().map(task, items, bar=None):
            yield result
            if self.killed is None and bar is not None and bar.startswith("rows of"):
                self.killed = next(iter(self.run_on_workers(os.getpid).values()))
                os.kill(self.killed, signal.SIGKILL)


def test_a_killed_worker_changes_no_bit(client: "distributed.Client", folders: list[Path]) -> None:
    tables = [open_table(folder) for folder in folders]
    assert len(tables[0].pieces) == 30
    passes = OneIsKilled(client)
    found = compare_tables(*tables, **SMALL, passes=passes)
    assert passes.killed is not None
    alone = compare_tables(*tables, **SMALL)
    assert found.by_set == alone.by_set
    assert found.neighbors_shared == alone.neighbors_shared
    client.wait_for_workers(2)
    assert passes.killed not in client.run(os.getpid).values()


def test_other_passes_give_what_threads_give(client: "distributed.Client", tmp_path: Path) -> None:
    a, b = two_sets(300)
    tables = [
        open_table(write_folder(tmp_path / name, x, names_of(300), files=1, row_group=150))
        for name, x in (("a", a), ("b", b))
    ]
    passes = ClusterPasses(client)
    here, there = (
        compare_clusters(*tables, clusters=20, refinements=2, passes=where)
        for where in (Passes(), passes)
    )
    assert replace(there, seconds=0) == replace(here, seconds=0)
    assert check_set(tables[0], "a", passes=passes) == check_set(tables[0], "a")


def test_a_workers_refusal_is_the_users(client: "distributed.Client", folders: list[Path]) -> None:
    tables = [open_table(folder) for folder in folders]
    (folders[1] / "part-2.parquet").unlink()
    with pytest.raises(InputError, match=r"part-2\.parquet: the file is gone"):
        compare_tables(*tables, **SMALL, passes=ClusterPasses(client))


def test_an_address_that_cannot_be_reached_is_one_line() -> None:
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(InputError, match=r"cannot be reached .*; give the address") as caught,
            open_passes(address),
        ):
            pass
        assert "\n" not in str(caught.value)


def test_without_an_address_threads_do_the_work() -> None:
    with open_passes(None) as passes:
        assert list(passes.map(abs, [-1, 2, -3])) == [1, 2, 3]


def test_local_is_here_whatever_scheduler_dask_is_set_to() -> None:
    with (
        dask.config.set({"scheduler-address": "tcp://127.0.0.1:1"}),
        open_passes("local") as passes,
    ):
        assert list(passes.map(abs, [-1, 2])) == [1, 2]

"""Passes over a table's pieces on a Dask cluster: the same tasks, the same order, other machines.

Every worker must see the files under the same paths, and have this package installed. A worker that
is lost takes nothing with it: its tasks run again elsewhere, and give what they would have given.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from sag_vicreg.errors import InputError
from sag_vicreg.machine import thread_count
from sag_vicreg.passes import Passes, R, T, in_order


class ClusterPasses(Passes):
    """Passes on the workers of a Dask client."""

    def __init__(self, client: Any) -> None:
        super().__init__(max(1, sum(client.nthreads().values())))
        self._client = client

    def _results(self, task: Callable[[T], R], items: list[T]) -> Iterator[R]:
        from distributed import KilledWorker

        try:
            submit = partial(self._client.submit, task, pure=False)
            yield from in_order(submit, items, 2 * self.count)
        except KilledWorker as error:
            raise InputError(
                "workers of the cluster died again and again at one task: give them more memory"
            ) from error


@contextmanager
def open_passes(scheduler: str | None) -> Iterator[Passes]:
    """Open what a pass runs on: this process's threads, or a Dask cluster.

    Parameters
    ----------
    scheduler
        None for threads; ``"local"`` for a cluster of processes on this machine; else the address
        of a scheduler, such as ``tcp://10.0.0.5:8786``.
    """
    if scheduler is None:
        yield Passes()
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise InputError(
            "--scheduler needs dask and distributed: pip install 'sag-vicreg[cluster]' brings both"
        ) from error
    if scheduler == "local":
        # Not by the client alone, which would go to the scheduler that Dask's settings name.
        with (
            LocalCluster(
                n_workers=thread_count(), threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            yield ClusterPasses(client)
        return
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"--scheduler {scheduler}: cannot be reached ({said}); give the address the scheduler "
            "prints when it starts, such as tcp://10.0.0.5:8786"
        ) from error
    with client:
        yield ClusterPasses(client)

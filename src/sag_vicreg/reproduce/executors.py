"""What runs the grid's tasks: processes on this machine, or submitit on a cluster."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sag_vicreg.errors import InputError, check_name
from sag_vicreg.reproduce.scheduler import Future

CLUSTERS = ("slurm", "local")


def _start_worker(parent: int, log: Path) -> None:
    """Prepare a worker: it writes to a log, and ends when the process that started it is gone.

    The terminal belongs to the grid's own bar. And a killed grid, ``kill -9`` included, must not
    leave workers training behind the user's back.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Processes:
    """Run every task in a process of its own, so that one's memory and crash stay its own.

    The processes write to ``log``; :func:`contextlib.closing` ends them, whatever ends its block.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._started: list[BaseProcess] = []

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future:
        """Start a process for one task."""
        pool = ProcessPoolExecutor(
            max_workers=1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(os.getpid(), self._log),
        )
        future: Future = pool.submit(function, *args)
        alive = (process for process in self._started if process.is_alive())
        self._started = [*alive, *pool._processes.values()]  # shutdown forgets them
        pool.shutdown(wait=False)
        return future

    def close(self) -> None:
        """End what still runs, now; its checkpoints are on disk."""
        for process in self._started:
            process.terminate()


@dataclass(frozen=True)
class _Resubmittable:
    """A function submitit may stop at its time limit and submit again: our tasks resume."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        """Run the task."""
        return self.function(*args)

    def checkpoint(self, *args: Any) -> Any:
        """Submit the same again; the run's own checkpoint holds the state."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, *args)


class ClusterExecutor:
    """Sends every task out as a job of its own through submitit."""

    def __init__(self, folder: Path, cluster: str, options: Mapping[str, Any]) -> None:
        import submitit

        check_name("cluster", cluster, CLUSTERS)
        try:
            self._executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
            self._executor.update_parameters(**options)
        # What submitit raises where there is no srun, for an unknown option and for a wrong type.
        except (RuntimeError, NameError, AssertionError) as error:
            raise InputError(f"cannot send jobs to {cluster}: {error}") from error

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future:
        """Queue one job."""
        job: Future = self._executor.submit(_Resubmittable(function), *args)
        return job

"""Processes that claim a folder."""

import os
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

from sag_vicreg.errors import InputError
from sag_vicreg.training.claim import claim


def hold(folder: Path, held: Event, let_go: Event, forks: bool) -> None:
    with claim(folder, "trains in"):
        if forks and os.fork() == 0:  # as a loader's worker, which may outlive its parent a while
            let_go.wait()
            os._exit(0)
        held.set()
        let_go.wait()


def count_owners(folder: Path, times: int, path: Path, barrier: Barrier) -> None:
    barrier.wait()
    for _ in range(times):
        try:
            with claim(folder, "trains in"):
                # Two owners at once would meet here: the file is made exclusively.
                with path.open("x"):
                    pass
                path.unlink()
        except InputError:
            pass

"""Processes that claim a folder."""

import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from sag_vicreg.cli import main
from sag_vicreg.errors import InputError
from sag_vicreg.training.claim import claim


def hold(folder: Path, test: Connection, forks: bool) -> None:
    """Claim the folder, say so, and hold it until the test hangs up.

    By a pipe: an event is never set again once a process that waits for it was killed.
    """
    with claim(folder, "trains in"), suppress(EOFError):
        if forks and os.fork() == 0:  # as a loader's worker, which may outlive its parent a while
            with suppress(EOFError):
                test.recv()
            os._exit(0)
        test.send("held")
        test.recv()


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


def train_by_command(arguments: list[str], said: Path) -> None:
    """Run ``sag-vicreg train``, what it says of mistakes into a file; it ends with the command."""
    with said.open("w") as sys.stderr:
        sys.argv[1:] = ["train", *arguments]
        main()

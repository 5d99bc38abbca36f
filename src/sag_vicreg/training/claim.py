"""A folder for one process at a time, by a lock that the operating system takes back."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from sag_vicreg.errors import InputError

LOCK = ".sag-vicreg.lock"

# Record locks belong to a process: a second one of the same process would be granted.
_held: set[Path] = set()
_guard = threading.Lock()


@contextmanager
def claim(folder: Path, doing: str) -> Iterator[None]:
    """Hold ``folder`` for this process while the block runs; refuse if another one holds it.

    The lock never outlives its owner: the kernel lets go of it when the process ends, however it
    ends, and processes that it forked (workers that load images) do not inherit it. A folder that
    is made here, and stays empty, goes again.

    Parameters
    ----------
    folder
        Made if it is not there.
    doing
        What the other process does, for the one line that refuses: ``"trains in"``.
    """
    path = folder.resolve() / LOCK
    made = [each for each in (folder, *folder.parents) if not each.exists()]  # innermost first
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _guard:
            file = None if path in _held else _open_locked(path)
            if file is not None:
                _held.add(path)
    except OSError as error:
        raise InputError(
            f"cannot claim {folder} ({error.strerror}): choose a folder that can be written"
        ) from error
    if file is None:
        raise InputError(
            f"another process {doing} {folder}: wait until it has ended, or choose another folder"
        )
    try:
        yield
    finally:
        with _guard:
            with suppress(OSError):
                if sys.platform == "win32":  # where an open file cannot be removed
                    file.close()
                path.unlink()
            file.close()
            _held.discard(path)
        with suppress(OSError):  # that is not empty
            for parent in made:
                parent.rmdir()


def _open_locked(path: Path) -> IO[bytes] | None:
    """Open the file and lock it; None where somebody else has."""
    while True:
        with ExitStack() as unless_locked:
            file = unless_locked.enter_context(path.open("ab"))
            try:
                _lock(file)
            except (BlockingIOError, PermissionError):
                return None
            # Whoever let go of it meanwhile has removed the file: a lock on that one holds nobody.
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    unless_locked.pop_all()
                    return file


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        # Not flock, which a forked process inherits and keeps after its parent's death.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

"""Atomic writes: a reader sees the old file or the new one, never half of one."""

import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sag_vicreg.errors import InputError

# Names of what this process has open already.
_OPEN_ALREADY = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/(\d+))|/proc/self/fd/(\d+)")
# Reading it sets it, for every thread of the process: done once, before there are others.
_UMASK = os.umask(0o077)
os.umask(_UMASK)


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; it takes the place of ``path`` when the block ends.

    The temporary file keeps the suffix of ``path``, since some writers choose their format by it.
    If the block raises, the temporary file is removed and ``path`` is left as it was. Devices and
    pipes, such as ``/dev/stdout`` and ``/dev/null``, are written into and never replaced.
    """
    path = Path(path)
    stream = _is_stream(path)
    try:
        folder = Path(tempfile.gettempdir()) if stream else path.parent
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=folder)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another path") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            if stream:
                with _open_stream(path) as out:
                    shutil.copyfileobj(written, out)
                return
            os.fsync(written.fileno())
        # mkstemp's files are private; a finished file gets the permissions open() would give it.
        temporary.chmod(0o666 & ~_UMASK)
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; free space or choose another path"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether a path stands for a device, a pipe or a file that is open already."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    special = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    # /dev/stdout may be a file by redirection, and is a link that belongs to the system.
    folder = os.path.realpath(path.parent)
    return special or folder == "/dev" or folder.startswith("/proc/")


def _open_stream(path: Path) -> IO[bytes]:
    """Open a stream for more; what is open already goes on from where it is.

    A file behind ``/dev/stdout`` that was opened anew would have a place of its own, and what is
    printed afterwards would be written over what stands here.
    """
    match = _OPEN_ALREADY.fullmatch(os.fspath(path))
    if match is None:
        return path.open("ab")
    sys.stdout.flush()
    stdout, stderr, *numbers = match.groups()
    number = 1 if stdout else 2 if stderr else int(next(filter(None, numbers)))
    return os.fdopen(os.dup(number), "wb")


def finished_files(folder: Path, pattern: str) -> list[Path]:
    """List the files of ``folder`` that match, sorted.

    Left out is what a write in progress, or one that was killed, keeps beside them: the names
    :func:`atomic_path` gives begin with a dot.
    """
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("."))


def check_writable(path: Path | str) -> None:
    """Refuse a path that cannot be written; called before the work rather than after it."""
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a folder; name a file in it")
        if _is_stream(path):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another path") from error


def check_apart(outputs: Iterable[Path | str], inputs: Iterable[Path | str] = ()) -> None:
    """Refuse to write over a file that is read, or two outputs to one file."""
    read = {_place(Path(path)) for path in inputs}
    taken = set()
    for path in map(Path, outputs):
        if _is_stream(path):
            continue
        place = _place(path)
        if place in read:
            why = "it is an input, which would be lost"
        elif place in taken:
            why = "two outputs have this name"
        else:
            taken.add(place)
            continue
        raise InputError(f"cannot write {path}: {why}; name another file")


def _place(path: Path) -> tuple[int, int] | str:
    """Tell a file from others whatever it is called."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def write_text(path: Path | str, text: str) -> None:
    """Write ``text`` to ``path`` atomically, as UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode())


def write_json(path: Path | str, content: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write ``content`` to ``path`` atomically, as indented JSON without NaN (JSON has none)."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")

"""The machine as this process sees it: cores, memory it has held, memory it may still take."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CGROUP = Path("/sys/fs/cgroup")
# Options of glibc's mallopt, and how far it lets the first go.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD = 32 * 2**20


def core_count() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Threads to use: ``OMP_NUM_THREADS`` where it is set, else one per core."""
    # OpenMP takes a list, a number for each level of nesting; the first is the outermost.
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else core_count()


def resident_bytes() -> int:
    """Return the memory the process holds now, or where the system does not tell, its peak."""
    return _bytes_in("/proc/self/status", "VmRSS") or peak_bytes()


def release_memory() -> None:
    """Give memory that is free in this process back to the system, where allocators can."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


@contextmanager
def holding_memory() -> Iterator[None]:
    """Let this process keep the memory it frees, for what asks for the same again at every step.

    By itself glibc gives large blocks back to the system as they are freed, and the next step pays
    for fresh pages: on a CPU that is a tenth of a training step of a small network. Afterwards the
    free memory is given back, and the thresholds stand where glibc would have moved them.
    """
    set_option, trim = _of_glibc("mallopt"), _of_glibc("malloc_trim")
    if set_option is None or trim is None:
        yield
        return
    set_option(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    set_option(_TRIM_THRESHOLD, -1)
    try:
        yield
    finally:
        set_option(_TRIM_THRESHOLD, 2 * _LARGEST_MMAP_THRESHOLD)
        trim(0)


def _of_glibc(name: str) -> Any:
    """Return a function of the C library, or None where it has none of this name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def _bytes_in(path: str, name: str) -> int | None:
    """Return what a file of the system says in a line such as ``MemAvailable: 12 kB``."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    sizes = (int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
    return next(sizes, None)


def peak_bytes() -> int:
    """Return the process's own peak of resident memory."""
    # Linux hands a parent's peak down to the processes it starts in ru_maxrss, so that a process
    # spawned by a large one would seem to need nothing more; VmHWM is the process's own.
    peak = _bytes_in("/proc/self/status", "VmHWM")
    if peak is not None:
        return peak
    import resource  # which Windows has not: only benchmarks ask for the peak

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_bytes(cgroup: Path = _CGROUP) -> int | None:
    """Memory this process may still take, or None where the system does not tell.

    ``cgroup`` is the folder where the limits of a container stand.
    """
    free = _bytes_in("/proc/meminfo", "MemAvailable")
    if free is None and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    every = (free, _left_in_container(cgroup), _left_of_addresses())
    return min((size for size in every if size is not None), default=None)


def _left_in_container(cgroup: Path) -> int | None:
    """Return what a container's own limit leaves; None where there is no limit."""
    try:
        limit = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        lines = (cgroup / "memory.stat").read_text().splitlines()
        held = {name: int(size) for name, size in (line.split() for line in lines)}
    except (OSError, ValueError):
        return None
    # Files that were read count as used until somebody needs the room.
    reclaimable = ("active_file", "inactive_file", "slab_reclaimable")
    return limit - used + sum(held.get(name, 0) for name in reclaimable)


def _left_of_addresses() -> int | None:
    """Return what `ulimit -v` leaves; None where there is no limit."""
    try:
        import resource  # which Windows has not

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0, limit - pages * resource.getpagesize())
    except (ImportError, OSError, ValueError, IndexError):
        return None

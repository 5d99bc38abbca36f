"""The machine as this process sees it: the cores it may use, the memory it has held."""

import os
import sys
from pathlib import Path


def core_count() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Threads to use: ``OMP_NUM_THREADS`` where it is set, else one a core."""
    # OpenMP takes a list, a number for each level of nesting; the first is the outermost.
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else core_count()


def peak_bytes() -> int:
    """Return the process's own peak of resident memory."""
    # Linux hands a parent's peak down to the processes it starts in ru_maxrss, so that a process
    # spawned by a large one would seem to need nothing more; VmHWM is the process's own.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource  # which Windows has not: only benchmarks ask for the peak

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

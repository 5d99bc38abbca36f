"""The most memory this process has held so far."""

import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """Return the process's own peak of resident memory."""
    # Linux hands a parent's peak down to the processes it starts in ru_maxrss, so that a process
    # spawned by a large one would seem to need nothing more; VmHWM is the process's own.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

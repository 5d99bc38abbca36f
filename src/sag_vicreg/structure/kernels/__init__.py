"""Compiled inner loops. The only part of the room that imports numba, and only when first needed.

Every kernel has an explicit signature, so it is compiled when its module is imported and read from
numba's cache ever after. Kernels run on one thread and release the GIL: :mod:`..parallel` spreads
them over threads in fixed blocks, so that no result depends on the number of threads.
"""

import functools
import importlib
import sys
import threading
from typing import Any

# NumPy's division: the check for zero that Python's needs would keep loops from being vectorised.
COMPILE: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Reading the cache takes well under this; compiling takes several times as long.
_PATIENCE_SECONDS = 1.5


@functools.cache  # once for all the kernels of a process
def _say_compiling() -> None:
    print("compiling numerical kernels, once after installation ...", file=sys.stderr, flush=True)


@functools.cache
def kernel(name: str) -> Any:
    """Import the kernel module ``name``, and say so if that means compiling it."""
    timer = threading.Timer(_PATIENCE_SECONDS, _say_compiling)
    timer.daemon = True
    timer.start()
    try:
        return importlib.import_module(f"{__name__}.{name}")
    finally:
        timer.cancel()

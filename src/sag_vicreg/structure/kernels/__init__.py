"""Compiled inner loops. The only part of the room that imports numba, and only when first needed.

Every kernel has an explicit signature, so it is compiled when its module is imported and read from
numba's cache ever after. Kernels run on one thread and release the GIL: :mod:`..parallel` spreads
them over threads in fixed blocks, so that no result depends on the number of threads.
"""

import functools
import importlib
import sys
from typing import Any

# NumPy's division: the check for zero that Python's needs would keep loops from being vectorised.
COMPILE: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@functools.cache  # once for all the kernels of a process
def _say_compiling() -> None:
    print("compiling numerical kernels, once after installation ...", file=sys.stderr, flush=True)


@functools.cache
def kernel(name: str) -> Any:
    """Import the kernel module ``name``, and say so if that means compiling it."""
    from numba.core import event

    class Announce(event.Listener):
        """Hears only of real compilations: what numba's cache holds is not compiled."""

        def on_start(self, event: Any) -> None:
            _say_compiling()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Announce()):
        return importlib.import_module(f"{__name__}.{name}")

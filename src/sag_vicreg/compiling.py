"""Compiled functions: numba's, read from its cache at once, and compiled anew where it has none."""

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

# numba must not be imported by two threads at once: each would wait for the other's import lock.
loading = threading.RLock()


def compiled(signature: str, *, fastmath: Any = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one signature, or read it from numba's cache.

    It runs on one thread and releases the GIL. Divisions are NumPy's: the check for zero that
    Python's needs would keep loops from being vectorised.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        use_numba()
        from numba import njit
        from numba.core import event

        class Announce(event.Listener):
            """Hears only of real compilations: what numba's cache holds is not compiled."""

            def on_start(self, event: Any) -> None:
                _say("compiling numerical kernels, once after installation ...")

            def on_end(self, event: Any) -> None:
                pass

        dispatcher: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
        dispatcher.enable_caching()
        numbas: Any = type(dispatcher._cache)
        dispatcher._cache.__class__ = _quick_cache(numbas)
        with event.install_listener("numba:compile", Announce()):
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compile_


@functools.cache
def _quick_cache(numbas: Any) -> Any:
    """Return numba's cache without what only compiling needs.

    Before it reads machine code from a file, numba loads everything it could compile: a second of
    imports, SciPy's linear algebra among them. Of that the code needs the memory manager alone.
    """

    class QuickCache(numbas):  # type: ignore[misc]
        def load_overload(self, sig: Any, target_context: Any) -> Any:
            from numba.core.runtime.nrt import rtsys

            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)

    return QuickCache if hasattr(numbas, "_load_overload") else numbas


@functools.cache
def use_numba() -> None:
    """Make numba ready; call it before anything that asks for compiled functions is imported.

    Where neither the installation nor the home folder can be written, numba refuses to compile a
    function that asks for a cache. Such a function is then compiled without one.
    """
    with loading:
        from numba.core.dispatcher import Dispatcher

        enable_caching = Dispatcher.enable_caching

        def enable_where_possible(self: Any) -> None:
            try:
                enable_caching(self)
            except RuntimeError:
                _say(
                    "no folder to keep compiled functions in: each command compiles its own; "
                    "set NUMBA_CACHE_DIR to a folder that can be written"
                )

        Dispatcher.enable_caching = enable_where_possible  # type: ignore[method-assign]


@functools.cache  # each message once per process
def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)

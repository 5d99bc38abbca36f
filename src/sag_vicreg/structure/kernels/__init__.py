"""Compiled inner loops. The only part of `structure` that needs numba, when first used.

Every kernel has an explicit signature, so it is compiled when its module is imported and read from
numba's cache ever after. Kernels run on one thread and release the GIL: :mod:`..parallel` spreads
them over threads in fixed blocks, so that no result depends on the number of threads.
"""

import functools
import importlib
import pkgutil
from typing import Any

from sag_vicreg.compiling import loading


@functools.cache
def kernel(name: str) -> Any:
    """Import the kernel module ``name``."""
    with loading:
        return importlib.import_module(f"{__name__}.{name}")


def compile_all() -> None:
    """Import every kernel, so that numba's cache has all of them.

    Of processes that begin together after an installation, each would compile what it needs.
    """
    for module in pkgutil.iter_modules(__path__):
        kernel(module.name)

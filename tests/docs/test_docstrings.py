"""Every example of a docstring runs and prints what it says."""

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import sag_vicreg

MODULES = [
    module.name
    for module in pkgutil.walk_packages(sag_vicreg.__path__, "sag_vicreg.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    module = import_module(name)
    tried = doctest.testmod(module)
    assert tried.failed == 0
    # An example that the finder misses would pass unseen.
    assert module.__file__ is not None
    assert (tried.attempted > 0) == (">>> " in Path(module.__file__).read_text())

"""Examples run as a reader would run them: docs/method.md top to bottom, docstrings one by one."""

import doctest
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
import torch

import sag_vicreg.losses
import sag_vicreg.pairing

PAGE = Path(__file__).parents[2] / "docs" / "method.md"
MODULES = [
    f"{room.__name__}.{module.name}"
    for room in (sag_vicreg.losses, sag_vicreg.pairing)
    for module in pkgutil.iter_modules(room.__path__)
]


def test_the_pages_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) == 5
    torch.manual_seed(0)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), namespace)
    assert torch.isfinite(torch.as_tensor(namespace["loss"]))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0

"""Make ``import torchvision`` work beside a CPU-only PyTorch.

PyPI's Linux torchvision wheel is linked against CUDA. Beside a CPU build of torch its compiled
library does not load, its operators are never declared, and ``import torchvision`` (and with it
timm and lightly) dies with ``operator torchvision::nms does not exist`` although nothing here
detects a box. Importing this module first declares the two operator schemas torchvision's Python
side refers to at import, and only where the compiled library is not there to declare them.
"""

import importlib.util
from contextlib import suppress
from pathlib import Path

import torch

_SCHEMAS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}

# A library's declarations live as long as this object does.
_declared = torch.library.Library("torchvision", "FRAGMENT")


def _compiled_library_loads() -> bool:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return False
    for library in sorted(Path(spec.origin).parent.glob("_C*.*")):
        with suppress(OSError):
            torch.ops.load_library(str(library))
            return True
    return False


def declare_missing_operators() -> list[str]:
    """Declare the schemas that are missing and return their names; a second call finds none."""
    if not _compiled_library_loads():
        missing = [name for name in _SCHEMAS if not hasattr(torch.ops.torchvision, name)]
        for name in missing:
            _declared.define(_SCHEMAS[name])
        return missing
    return []


declare_missing_operators()

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

# Declares the operators torchvision may miss; tests import it on their own.
import sag_vicreg.torchvision_ops  # noqa: F401


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or leaves files in the user's cache."""
    monkeypatch.setenv("SAG_VICREG_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Small tensors gain nothing from a second thread, and lose much where cores are shared."""
    torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four classes of ten pictures, 20 px wide and 16 high, without a split of their own."""
    root = tmp_path / "pets"
    rng = np.random.default_rng(0)
    for name in ("ant", "bee", "cat", "dog"):
        (root / name).mkdir(parents=True)
        for place in range(10):
            noise = rng.integers(0, 256, (16, 20, 3), dtype=np.uint8)
            Image.fromarray(noise).save(root / name / f"{place}.png")
    (root / "ant" / ".hidden.png").write_bytes(b"no picture")
    (root / "ant" / "notes.txt").write_text("not a picture")
    return root

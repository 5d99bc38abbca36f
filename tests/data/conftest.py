from pathlib import Path

import pytest
import torch

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

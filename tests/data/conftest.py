from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or leaves files in the user's cache."""
    monkeypatch.setenv("SAG_VICREG_CACHE", str(tmp_path / "cache"))

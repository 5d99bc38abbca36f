import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets; tests that ask for it skip where there is none."""
    root = os.environ.get("SAG_VICREG_DATA")
    if not root:
        pytest.skip("SAG_VICREG_DATA is not set: no real datasets on this machine")
    return Path(root)

"""The documentation builds, every page in its navigation, every link leading somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "site" / "metric" / "index.html").is_file()


def test_the_page_on_reliability_names_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "reliability.md").read_text()
    names = {path.name for path in (root / "tests").rglob("test_*.py")}
    mentioned = re.findall(r"`((?:tests/)?[\w/]*test_\w+\.py)`", page)
    assert len(mentioned) > 20
    for each in mentioned:
        assert (root / each).is_file() if "/" in each else each in names, each

"""Pages about made-up sources, as text."""

from pathlib import Path
from typing import Any

from sag_vicreg.report import build_report


def text_of(*sources: Path, **options: Any) -> str:
    """Build a page, by default without forests and half-samples, and read it."""
    out = sources[0].parent / "report.html"
    quick = {"half_samples": 0, "trees": 0}
    return build_report(list(sources), out, **{**quick, **options}).read_text()


def visible(page: str) -> str:
    """Return what of a page is neither style nor data."""
    return page.split("<body>")[1].split('<script type="application/json"')[0]

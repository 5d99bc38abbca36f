"""The benchmark of latency times what it says, here on a page of few points."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks import latency
from sag_vicreg.report import maps


def test_everything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "BROWSERS", ())
    report = latency.run(repeats=1, per_class=1)
    assert len(report.rows) == 5
    assert [target.what.split(",")[0] for target in report.targets] == [
        "sag-vicreg --version",
        "sag-vicreg --help",
        "import sag_vicreg.structure",
        "drawing 48 shapes",
    ]
    assert all(target.measured > 0 for target in report.targets[:2])


@pytest.mark.slow
@pytest.mark.browser
def test_a_hover_is_timed_where_there_is_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "project", lambda vectors, seed: vectors[:, :2])  # UMAP's half minute
    browser = latency.find_browser()
    if browser is None:
        pytest.skip("no Chromium on this machine")
    pixels, labels = latency.draw_shapes("train", per_class=2)
    # In a thread of its own: Playwright runs once per thread, and tests of the page may hold it.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(latency.hover_milliseconds, browser, pixels, labels)
    assert found.result() > 0

"""The benchmark of views measures both pipelines on the same images."""

import pytest

from benchmarks.views import run


def test_both_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAG_VICREG_DATA", raising=False)
    report = run(repeats=1, images=48)
    assert len(report.rows) == 2
    (target,) = report.targets
    assert target.measured > 0

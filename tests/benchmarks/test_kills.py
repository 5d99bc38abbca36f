"""The benchmark of kills does kill, and sees what a kill has spoilt."""

import pytest

from benchmarks import kills


@pytest.mark.slow
def test_a_few_kills_spoil_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    report = kills.run(kills=2, steps=10)
    assert sum(int(count) for _, count in report.rows[:-1]) == 2
    assert all(target.met for target in report.targets)

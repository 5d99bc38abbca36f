"""The interval of the forest similarity, tried on draws whose truth is known."""

import json
from pathlib import Path

import numpy as np

from benchmarks.coverage import ANEW, KEPT, PARTS, changes, run, settings, sources, trials


def test_intervals_cover_the_truth() -> None:
    """Fewer than 11 hits of 15 by intervals of 95 percent would be rarer than 1e-3."""
    changed = ("noise of 100 %", "projection to 4", "a third of the rows shuffled")
    every = [s for s in settings() if s.n == 100 and s.name in changed]
    found = list(trials(every, len(every), 5, rebuilt=0))
    assert len(found) == 15
    assert sum(trial.covers(PARTS) for trial in found) >= 11
    assert all(set(trial.intervals) == {PARTS, KEPT} for trial in found)


def test_the_page_says_what_was_recorded() -> None:
    root = Path(__file__).parents[2]
    recorded = json.loads((root / "benchmarks/results/coverage.json").read_text())
    page = (root / "docs/metric.md").read_text()
    _, draws, ours, large, kept, anew, half, anews = recorded["rows"][0]
    assert int(draws) >= 500
    assert f"| {ours} % | {half} |" in page
    assert f"| {kept} % |" in page
    assert f"| {anew.removesuffix('.0')} % | {anews} |" in page
    assert f"in {large} percent of the draws" in page
    assert all(target["met"] for target in recorded["targets"])


def test_every_source_and_change_takes_part() -> None:
    every = settings()
    assert len(every) == 2 * len(sources()) * len(changes())
    a, b, _ = every[0].draw(0, 1)
    again, _, _ = every[0].draw(0, 1)
    other, _, _ = every[0].draw(0, 2)
    assert a.shape == b.shape == (100, 16)
    np.testing.assert_array_equal(a, again)
    assert not np.array_equal(a, other)


def test_truth_is_a_mean_over_other_draws() -> None:
    identical = next(s for s in settings() if s.name == "noise of 10 %")
    unrelated = next(s for s in settings() if s.name == "all rows shuffled")
    assert identical.truth(3) > 0.9
    assert abs(unrelated.truth(3)) < 0.1


def test_reports_shares_and_widths() -> None:
    report = run(repetitions=2, draws=2)
    assert report.rows[0][:2] == ("all", "2")
    assert all(len(row) == len(report.columns) for row in report.rows)
    assert ANEW in report.columns

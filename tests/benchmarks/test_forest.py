"""The benchmark of the forest similarity checks its own score before it times anything."""

import pytest

from benchmarks.forest import run, scipy_loop
from benchmarks.structure import two_sets
from sag_vicreg.structure import ward_forest
from sag_vicreg.structure.corrected import corrected_similarity


def test_the_scipy_loop_gives_the_same_score() -> None:
    sets = two_sets(120)
    expected = scipy_loop(sets, ward_forest(sets[0], trees=40, seed=3))
    assert corrected_similarity(*sets, trees=40, seed=3) == pytest.approx(expected, abs=2e-4)


def test_reports_its_ratios() -> None:
    report = run(n=60, loop_n=60, starts=1)
    assert len(report.rows) == 5
    assert all(len(row) == len(report.columns) for row in report.rows)
    assert report.targets[-1].met

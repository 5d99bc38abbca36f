"""The benchmark of the metric checks its own numbers before it times anything."""

import numpy as np
import pytest

from benchmarks.structure import our_route, run, run_large, scipy_route, two_sets


def test_both_routes_give_the_same_five_numbers() -> None:
    sets = two_sets(200)
    np.testing.assert_allclose(our_route(sets, lca="height"), scipy_route(sets), atol=1e-10)


@pytest.mark.slow
def test_reports_ratios_and_differences() -> None:
    report = run(n=300, repeats=1)
    assert len(report.rows) == 4
    assert all(len(row) == len(report.columns) for row in report.rows)
    by_name = {target.what: target for target in report.targets}
    assert by_name["largest difference from SciPy's five numbers"].met
    assert by_name["largest difference from fastcluster's heights"].met


def test_large_runs_are_held_to_their_targets_only_at_their_sizes() -> None:
    assert run_large(n=200, geometry="spherical").targets == []

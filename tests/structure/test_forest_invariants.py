"""What a forest similarity must not change with, and what it must fall with."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forests import Floats, hierarchy
from sag_vicreg.structure import (
    GEOMETRIES,
    ForestSimilarity,
    forest_similarity,
    parallel,
    ward_forest,
)
from sag_vicreg.structure.forest_tables import (
    PLAIN,
    WITHIN_A,
    PairAverages,
    PairTables,
    tabulate,
)


def similarity(a: Floats, b: Floats, **options: Any) -> ForestSimilarity:
    return forest_similarity(ward_forest(a, **options), ward_forest(b, **options))


def tables(a: Floats, b: Floats, **options: Any) -> PairTables:
    """Compare without an interval, which most invariants need not wait for."""
    averages = PairAverages(ward_forest(a, **options), ward_forest(b, **options))
    return tabulate(averages, averages.bins())


def repeated_rows(seed: int) -> Floats:
    return np.repeat(hierarchy(20, seed=seed), 3, axis=0)


def nearly_constant(seed: int) -> Floats:
    """Of many halves, all rows but one or two are the same point."""
    x = np.ones((60, 5))
    x[:3] = np.random.default_rng(seed).normal(size=(3, 5))
    return x


def drawn(seed: int) -> Floats:
    return hierarchy(60, seed=seed)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("make", [drawn, repeated_rows, nearly_constant])
@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), trees=st.sampled_from([4, 8, 20]))
def test_a_set_and_itself(geometry: str, make: Any, seed: int, trees: int) -> None:
    x = make(seed)
    found = tables(x, x, geometry=geometry, trees=trees, seed=seed)
    for corrected, plain in zip(
        found.corrected(), (found.spearman(), found.pearson()), strict=True
    ):
        assert plain[PLAIN] == pytest.approx(1.0, abs=1e-12)
        if make is not nearly_constant or plain[WITHIN_A] > 0:
            assert corrected == pytest.approx(1.0, abs=1e-12)
        else:  # ties are all there is, and they are broken at random
            assert np.isnan(corrected)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("distance", ["size", "level", "order"])
def test_rotation_and_scale_change_nothing(geometry: str, distance: str) -> None:
    x = hierarchy(90, seed=1)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))
    found = tables(x, 7.3 * x @ turn, geometry=geometry, distance=distance, trees=20)
    np.testing.assert_allclose(found.corrected(), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_swapping_the_sets_swaps_only_their_reliabilities(seed: int) -> None:
    """To the last bit: a floor decides by whether a score lies below another."""
    rng = np.random.default_rng([3, seed])
    a = hierarchy(600, seed=seed) + rng.normal(size=(600, 1))
    b = a + rng.normal(size=a.shape)
    there, back = similarity(a, b, trees=20), similarity(b, a, trees=20)
    assert there.spearman == back.spearman
    assert there.pearson == back.pearson
    assert there.interval == back.interval
    assert there.error == back.error
    assert there.reliability == back.reliability[::-1]
    assert there.reliability[0] != pytest.approx(there.reliability[1], abs=1e-3)
    assert there.shared.kendall == pytest.approx(back.shared.kendall, abs=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_shuffled_rows_share_nothing(geometry: str) -> None:
    x = hierarchy(300, seed=4)
    scores = [
        tables(
            x, x[np.random.default_rng(seed).permutation(300)], geometry=geometry, seed=seed
        ).corrected()
        for seed in range(4)
    ]
    assert np.abs(scores).max() < 0.12
    assert np.abs(np.mean(scores, axis=0)).max() < 0.06


def test_unrelated_sets_do_not_agree_on_how_ties_are_broken() -> None:
    """Two unrelated partitions in two: most pairs are tied, and ties fall to some order of items.

    If it were the same order in every tree, the scores would be 0.06 and 0.12.
    """
    scores = []
    for seed in range(4):
        labels = np.random.default_rng(seed).integers(2, size=(2, 200))
        scores.append(tables(np.eye(2)[labels[0]], np.eye(2)[labels[1]], seed=seed).corrected())
    assert np.abs(np.mean(scores, axis=0)).max() < 0.02


def test_more_noise_means_less_similarity() -> None:
    x = hierarchy(250, seed=5)
    noise = np.random.default_rng(6).normal(size=x.shape)
    scores = np.array(
        [tables(x, x + level * noise).corrected() for level in (0.0, 0.3, 1.0, 2.0, 4.0, 8.0)]
    )
    assert (np.diff(scores, axis=0) < 0).all()
    assert scores[1].min() > 0.97
    assert scores[-1].max() < 0.25


def test_the_order_of_the_rows_matters_no_more_than_the_halves() -> None:
    x = hierarchy(150, seed=7)
    y = x + 1.5 * np.random.default_rng(8).normal(size=x.shape)
    rows = np.random.default_rng(9).permutation(150)
    one, other = similarity(x, y), similarity(x[rows], y[rows])
    assert one.spearman != other.spearman
    assert abs(one.spearman - other.spearman) < 3 * np.hypot(one.error, other.error)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_threads_do_not_change_a_bit(geometry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = hierarchy(60, seed=10)
    y = x + np.random.default_rng(11).normal(size=x.shape)
    monkeypatch.setattr(parallel, "FEW", 0)  # fewer are work for one thread
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        pair = [ward_forest(z, geometry=geometry, trees=12) for z in (x, y)]
        found.append(forest_similarity(pair[0], pair[1], permutations=9).to_dict())
    assert found[0] == found[1] == found[2]


def test_a_seed_is_a_result() -> None:
    x = hierarchy(80, seed=12)
    y = x + np.random.default_rng(13).normal(size=x.shape)
    first, again, other = (tables(x, y, trees=20, seed=seed).corrected() for seed in (1, 1, 2))
    assert first == again != other


def test_without_any_structure_there_is_no_number() -> None:
    """Equidistant points: the two groups of trees agree by chance alone, or less than that."""
    found = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            found = similarity(np.eye(50), hierarchy(50, seed=seed), trees=4, seed=seed)
            if found.reliability[0] <= 0:
                break
    assert found is not None
    assert found.reliability[0] <= 0
    assert np.isnan([found.spearman, *found.interval, found.error]).all()
    written = found.to_dict()
    assert written["spearman"] is written["error"] is None
    assert written["interval"] == [None, None]
    assert written["shared"]["spearman"] == found.shared.spearman

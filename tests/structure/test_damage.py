"""Planted damage does what it says: against plain loops, scikit-learn, and its own invariants."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA

from sag_vicreg.errors import InputError
from sag_vicreg.structure import damage

SEEDS = st.integers(0, 1000)
SHARES = st.floats(0, 1)
LABELS = st.lists(st.integers(0, 6), min_size=8, max_size=40).filter(lambda x: len(set(x)) > 1)


@pytest.fixture
def x() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.normal(size=(300, 6)) * [1, 2, 3, 4, 5, 6] + rng.normal(size=6) * 10


def test_a_rotation_keeps_every_distance_and_moves_every_row(x: np.ndarray) -> None:
    turned = damage.rotate(x, seed=3)
    np.testing.assert_allclose(pdist(turned), pdist(x), rtol=1e-10)
    np.testing.assert_allclose(pdist(turned, "cosine"), pdist(x, "cosine"), atol=1e-12)
    assert (np.abs(turned - x).max(axis=1) > 0.1).all()


def test_rotations_are_uniform() -> None:
    """A uniform rotation sends a fixed vector anywhere on the circle; raw QR does not."""
    ends = np.array([damage.rotate(np.eye(3, 2), seed=seed)[0] for seed in range(400)])
    assert np.abs(ends.mean(axis=0)).max() < 0.15
    # Share of ends in each quadrant.
    counts = np.bincount((ends[:, 0] > 0) * 2 + (ends[:, 1] > 0), minlength=4)
    assert counts.min() > 70


def test_noise_has_the_size_asked_for_and_grows_along_itself(x: np.ndarray) -> None:
    one, three = (damage.add_noise(x, share, seed=1) - x for share in (0.1, 0.3))
    np.testing.assert_allclose(three, 3 * one)
    wanted = 0.1 * np.sqrt(np.mean([np.var(column) for column in x.T]))
    assert one.std() == pytest.approx(wanted, rel=0.05)
    # The same in every coordinate, however wide its column is.
    assert one.std(axis=0).max() < 1.3 * one.std(axis=0).min()


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_quantised_numbers_are_the_nearest_of_few(x: np.ndarray, bits: int) -> None:
    kept = damage.quantise(x, bits)
    for column, found in zip(x.T, kept.T, strict=True):
        values = np.linspace(column.min(), column.max(), 2**bits)
        nearest = values[np.abs(column[:, None] - values).argmin(axis=1)]
        np.testing.assert_allclose(found, nearest, atol=1e-12)


def test_one_bit_is_the_side_of_the_mean(x: np.ndarray) -> None:
    kept = damage.quantise(x, 1)
    for column, found in zip(x.T, kept.T, strict=True):
        assert len(set(found)) == 2
        np.testing.assert_array_equal(found == found.max(), column > column.mean())
        assert np.ptp(found) == pytest.approx(2 * column.std())


def test_a_constant_column_stays_constant() -> None:
    x = np.column_stack([np.arange(5.0), np.full(5, 7.0)])
    for bits in (1, 4):
        assert (damage.quantise(x, bits)[:, 1] == 7).all()


def test_truncation_is_scikit_learns(x: np.ndarray) -> None:
    for dims in (1, 3, 6):
        pca = PCA(dims).fit(x)
        expected = pca.inverse_transform(pca.transform(x))
        np.testing.assert_allclose(damage.truncate(x, dims), expected, atol=1e-9)


def test_projections_keep_distances_on_average_and_are_nested(x: np.ndarray) -> None:
    wide, narrow = damage.project(x, 400, seed=2), damage.project(x, 3, seed=2)
    np.testing.assert_allclose(wide[:, :3] * np.sqrt(400), narrow * np.sqrt(3))
    assert np.mean(pdist(wide) / pdist(x)) == pytest.approx(1, abs=0.1)


@given(st.integers(3, 60), SHARES, SHARES, SEEDS)
def test_shuffled_rows_are_a_permutation_without_fixed_points_and_nested(
    n: int, one: float, other: float, seed: int
) -> None:
    rows = np.arange(n)
    moved = []
    for share in sorted((one, other)):
        shuffled = damage.shuffle_rows(rows, share, seed=seed)
        assert sorted(shuffled) == list(rows)
        moved.append({row for row in rows if shuffled[row] != row})
        assert len(moved[-1]) == (max(2, round(share * n)) if share else 0)
    assert moved[0] <= moved[1]


def test_rows_move_whole(x: np.ndarray) -> None:
    places = damage.shuffle_rows(np.arange(len(x)), 0.5, seed=4)
    np.testing.assert_array_equal(damage.shuffle_rows(x, 0.5, seed=4), x[places])


@given(LABELS, SEEDS)
def test_inside_a_cluster_every_row_moves_and_none_leaves(labels: list[int], seed: int) -> None:
    given_labels = np.array(labels)
    places = damage.shuffle_inside(np.arange(len(labels)), given_labels, seed=seed)
    assert sorted(places) == list(range(len(labels)))
    np.testing.assert_array_equal(given_labels[places], given_labels)
    for row, place in enumerate(places):
        assert (row == place) == (labels.count(labels[row]) == 1)


@given(LABELS, SHARES, SHARES, SEEDS)
def test_scattered_members_leave_for_other_clusters_and_the_rest_stay(
    labels: list[int], one: float, other: float, seed: int
) -> None:
    before, count = np.array(labels), len(set(labels))
    earlier: dict[int, int] = {}
    for share in sorted((one, other)):
        after = damage.scattered(before, share, seed=seed)
        assert set(after) <= set(labels)
        gone = set(before[after != before])
        assert len(gone) == (max(1, round(share * count)) if share else 0)
        assert not (np.isin(before, list(gone)) & (after == before)).any()
        assert all(after[row] == cluster for row, cluster in earlier.items())
        earlier = {row: int(after[row]) for row in np.flatnonzero(after != before)}


@given(LABELS, SHARES, SHARES, SEEDS)
def test_merged_clusters_go_whole_to_ones_that_stay(
    labels: list[int], one: float, other: float, seed: int
) -> None:
    before, count = np.array(labels), len(set(labels))
    finer: np.ndarray = before
    for share in sorted((one, other)):
        after = damage.merged(before, share, seed=seed)
        assert all(len(set(after[before == cluster])) == 1 for cluster in set(labels))
        gone = set(before[after != before])
        assert len(gone) == (min(max(1, round(share * count)), count - 1) if share else 0)
        assert set(after) == set(labels) - gone
        # Nested: what was one cluster at the smaller share is one at the larger.
        assert all(len(set(after[finer == cluster])) == 1 for cluster in set(finer))
        finer = after


@pytest.mark.parametrize(
    ("change", "goes_to"),
    [
        (damage.scatter_clusters, damage.scattered),
        (damage.merge_clusters, damage.merged),
    ],
)
def test_rows_keep_their_offset_where_they_go(
    x: np.ndarray,
    change: Callable[..., np.ndarray],
    goes_to: Callable[..., np.ndarray],
) -> None:
    labels = np.array(list("abcdef"))[np.random.default_rng(0).integers(6, size=len(x))]
    after = goes_to(labels, 0.5, seed=2)
    found = change(x, labels, 0.5, seed=2)
    assert 0 < (after != labels).sum() < len(x)
    for row in range(len(x)):
        here, there = (x[labels == name].mean(axis=0) for name in (labels[row], after[row]))
        np.testing.assert_allclose(found[row], x[row] - here + there, atol=1e-10)


def test_tightening_scales_each_cluster_about_its_centre(x: np.ndarray) -> None:
    labels = np.arange(len(x)) % 5
    tight = damage.tighten_clusters(x, labels, 4.0, seed=0)
    factors = []
    for cluster in range(5):
        before, after = x[labels == cluster], tight[labels == cluster]
        np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), atol=1e-10)
        ratios = pdist(after) / pdist(before)
        np.testing.assert_allclose(ratios, ratios[0])
        factors.append(ratios[0])
    assert 0.25 <= min(factors) < max(factors) <= 1
    assert np.ptp(factors) > 0.2


@pytest.mark.parametrize(
    "change",
    [
        lambda x, seed: damage.rotate(x, seed=seed),
        lambda x, seed: damage.add_noise(x, 0.5, seed=seed),
        lambda x, seed: damage.project(x, 4, seed=seed),
        lambda x, seed: damage.shuffle_rows(x, 0.5, seed=seed),
        lambda x, seed: damage.shuffle_inside(x, np.arange(len(x)) % 7, seed=seed),
        lambda x, seed: damage.scatter_clusters(x, np.arange(len(x)) % 7, 0.3, seed=seed),
        lambda x, seed: damage.merge_clusters(x, np.arange(len(x)) % 7, 0.3, seed=seed),
        lambda x, seed: damage.tighten_clusters(x, np.arange(len(x)) % 7, 2.0, seed=seed),
    ],
)
def test_the_seed_decides_and_the_given_set_stays(
    x: np.ndarray, change: Callable[[np.ndarray, int], np.ndarray]
) -> None:
    before = x.copy()
    one, again, other = change(x, 1), change(x, 1), change(x, 2)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: damage.add_noise(x, -0.1), "0 or more"),
        (lambda x: damage.quantise(x, 0), "1 to 16"),
        (lambda x: damage.truncate(x, 7), "1 to 6"),
        (lambda x: damage.project(x, 0), "1 or more"),
        (lambda x: damage.shuffle_rows(x, 1.5), "from 0 to 1"),
        (lambda x: damage.shuffle_inside(x, np.zeros(3)), "one label per row"),
        (lambda x: damage.scatter_clusters(x, np.zeros(len(x)), 0.5), "two clusters or more"),
        (lambda x: damage.merge_clusters(x, np.zeros(len(x)), 0.5), "two clusters or more"),
        (lambda x: damage.tighten_clusters(x, np.zeros(len(x)), 0.5), "1 or more"),
        (lambda x: damage.rotate(x * np.nan), "NaN"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    x: np.ndarray, call: Callable[[np.ndarray], Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as refused:
        call(x)
    assert "\n" not in str(refused.value)

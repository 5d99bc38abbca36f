"""Forests and their similarity: SciPy's trees of the same halves and plain loops are the oracle."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from forests import Floats, averages, expected, hierarchy
from sag_vicreg.structure import (
    FOREST_DISTANCES,
    GEOMETRIES,
    Forest,
    forest_similarity,
    ward_forest,
)
from sag_vicreg.structure.forest import forests_of_points, with_trees
from sag_vicreg.structure.forest_tables import (
    PairAverages,
    corrected,
    rank_correlation,
    tabulate,
)
from sag_vicreg.structure.kernels import kernel


def two_sets(n: int, seed: int, *, noise: float = 1.0) -> tuple[Floats, Floats]:
    a = hierarchy(n, seed=seed)
    rng = np.random.default_rng(seed + 100)
    return a, a @ rng.normal(size=(16, 16)) / 4 + noise * rng.normal(size=(n, 16))


def forests(sets: tuple[Floats, Floats], **options: Any) -> tuple[Forest, Forest]:
    return ward_forest(sets[0], **options), ward_forest(sets[1], **options)


@pytest.mark.parametrize("n", [60, 61])
def test_halves_are_complementary(n: int) -> None:
    forest = ward_forest(hierarchy(n, seed=0), trees=12)
    assert (forest.n, forest.leaves, forest.trees) == (n, 30, 12)
    np.testing.assert_array_equal(np.sort(forest.items), np.arange(n))
    for split, half in enumerate(forest.half):
        assert (half == -1).sum() == n % 2
        for side in (0, 1):
            members = np.flatnonzero(half == side)
            assert len(members) == 30
            np.testing.assert_array_equal(np.sort(forest.order[2 * split + side]), members)
    # Other splits are other splits, and all of them together leave nobody out for good.
    assert len({half.tobytes() for half in forest.half}) == 6
    assert ((forest.half >= 0).sum(axis=0) > 3).all()


@pytest.mark.parametrize(
    ("geometry", "distance"),
    [
        *((geometry, "size") for geometry in GEOMETRIES),
        ("cosine", "level"),
        ("spherical", "order"),
        ("euclidean", "height"),
    ],
)
@pytest.mark.parametrize("n", [50, 61])
def test_averages_of_pairs_are_those_of_scipy_trees(geometry: str, distance: str, n: int) -> None:
    sets = two_sets(n, seed=n)
    pair = forests(sets, trees=8, geometry=geometry, distance=distance, seed=4)
    sums_a, sums_b, counts = PairAverages(*pair).square(n)
    later = np.triu_indices(n, 1)
    unit = kernel("forest").UNIT
    if distance == "order":
        unit -= unit % (n // 2 - 1)
    for x, forest, sums in zip(sets, pair, (sums_a, sums_b), strict=True):
        by_scipy = averages(x, forest)
        for group in (0, 1):
            np.testing.assert_array_equal(counts[group][later], by_scipy.counts[group][later])
            # Four trees of a group, each rounded to half a unit.
            np.testing.assert_allclose(
                sums[group][later] / unit, by_scipy.sums[group][later], rtol=0, atol=2.5 / unit
            )


CASES: list[tuple[int, dict[str, Any], float]] = [
    (50, {"trees": 4}, 1.0),
    (50, {"trees": 100}, 1.0),
    (75, {"trees": 40, "geometry": "spherical"}, 0.1),
    (75, {"trees": 12, "geometry": "euclidean"}, 3.0),
    (121, {"trees": 20, "distance": "level"}, 1.0),
    (121, {"trees": 20, "distance": "order"}, 1.0),
    (121, {"trees": 20, "distance": "height"}, 1.0),
    (260, {"trees": 60}, 0.3),
]


@pytest.mark.parametrize(("n", "options", "noise"), CASES)
def test_scores_are_those_of_scipy_stats(n: int, options: dict[str, Any], noise: float) -> None:
    sets = two_sets(n, seed=n + 1, noise=noise)
    pair = forests(sets, **options, seed=2)
    found = forest_similarity(*pair)
    by_scipy = expected(averages(sets[0], pair[0]), averages(sets[1], pair[1]))
    assert found.missing_pairs == by_scipy.missing
    # The bounds that are documented where the averages are coded and binned.
    assert found.pearson == pytest.approx(by_scipy.pearson, abs=5e-6)
    assert found.shared.pearson == pytest.approx(by_scipy.shared[0], abs=5e-6)
    assert found.spearman == pytest.approx(by_scipy.spearman, abs=2e-4)
    assert found.shared.spearman == pytest.approx(by_scipy.shared[1], abs=2e-4)
    assert found.shared.kendall == pytest.approx(by_scipy.shared[2], abs=5e-4)
    assert found.reliability == pytest.approx(by_scipy.reliability, abs=2e-4)
    assert (found.n, found.items, found.leaves) == (n, n, n // 2)


def test_merges_at_one_height_share_their_order() -> None:
    """Corners of a cube, two points at each, as far apart at one corner as at another."""
    corners = np.array([[8.0 * (k >> bit & 1) for bit in range(5)] for k in range(30)])
    x = np.column_stack([np.repeat(corners, 2, axis=0), np.tile([0.0, 1.0], 30)])
    forest = ward_forest(x, trees=4, geometry="euclidean", distance="order")
    pairs = {(i, i + 1) for i in range(0, 60, 2)}
    for order, value in zip(forest.items[forest.order], forest.value, strict=True):
        together = [
            int(said)
            for left, right, said in zip(order, order[1:], value, strict=False)
            if (min(left, right), max(left, right)) in pairs
        ]
        unit = kernel("forest").UNIT // 29
        assert len(together) > 1
        assert together == [len(together) * unit] * len(together)
        assert value.max() == 29 * unit


def test_of_many_rows_a_random_sample_takes_part() -> None:
    sets = two_sets(300, seed=3)
    pair = forests(sets, trees=20, items=120)
    assert len(set(pair[0].items.tolist())) == 120
    found = forest_similarity(*pair)
    by_scipy = expected(averages(sets[0], pair[0]), averages(sets[1], pair[1]))
    assert found.spearman == pytest.approx(by_scipy.spearman, abs=2e-4)
    assert (found.n, found.items, found.leaves) == (300, 120, 60)


def test_agreement_on_the_closest_pairs() -> None:
    sets = two_sets(200, seed=8)
    pair = forests(sets)
    a, b = averages(sets[0], pair[0]), averages(sets[1], pair[1])
    pairs = np.triu(np.ones((200, 200), np.bool_), 1)
    means = [x.of(group, pairs) for x in (a, b) for group in (0, 1)]
    by_share = {found.share: found for found in forest_similarity(*pair).by_scale}
    for share in (0.01, 0.1, 0.5):
        a1, a2, b1, b2 = (np.argsort(np.argsort(x)) < share * len(x) for x in means)
        across = (pearsonr(a1, b2)[0] + pearsonr(a2, b1)[0]) / 2
        corrected = across / np.sqrt(pearsonr(a1, a2)[0] * pearsonr(b1, b2)[0])
        # A bin ends as near to the share as it can.
        assert by_share[share].similarity == pytest.approx(corrected, abs=0.02)
        size = 100 ** np.quantile(a.of(None, pairs), share)
        assert by_share[share].size == pytest.approx(size, rel=0.02)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("distance", FOREST_DISTANCES)
def test_added_trees_are_those_built_at_once(geometry: str, distance: str) -> None:
    points = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in two_sets(61, seed=5)]
    options: dict[str, Any] = {"distance": distance, "seed": 7}
    grown = with_trees(forests_of_points(points, geometry, trees=8, **options), 20)
    at_once = forests_of_points(points, geometry, trees=20, **options)
    for one, other in zip(with_trees(grown, 20), at_once, strict=True):
        for part in ("items", "order", "value", "half"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


def test_blocks_of_rows_do_not_change_the_tables() -> None:
    pair = PairAverages(*forests(two_sets(90, seed=6), trees=12))
    bins = pair.bins()
    expected_tables = tabulate(pair, bins)
    found = tabulate(pair, bins, rows_at_once=7)
    np.testing.assert_array_equal(pair.bins(rows_at_once=7), bins)
    np.testing.assert_array_equal(found.tables, expected_tables.tables)
    np.testing.assert_array_equal(found.plain, expected_tables.plain)
    np.testing.assert_array_equal(found.moments, expected_tables.moments)
    assert found.missing == expected_tables.missing > 0
    assert found.pairs + found.missing == 90 * 89 // 2


def test_a_table_and_its_transpose_have_one_correlation_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    for bins in (3, 64, 512):
        for _ in range(5):
            table = (rng.integers(0, 2**13, (bins, bins)) ** 2 // bins).astype(np.int32)
            assert rank_correlation(table) == rank_correlation(np.ascontiguousarray(table.T))


@pytest.mark.parametrize(("trees", "distance"), [(8, "level"), (8, "size"), (20, "level")])
def test_averages_that_take_few_values_are_told_apart(trees: int, distance: str) -> None:
    """Bins as wide as shares of many pairs would move a score of few trees by up to 0.005."""
    averages = PairAverages(*forests(two_sets(60, 1), trees=trees, distance=distance))
    bins = averages.bins()
    sums_a, sums_b, counts = averages.rows(slice(0, 60))
    held = (counts > 0).all(axis=0) & (np.arange(60)[:, None] < np.arange(60))
    means = [sums[k][held] / counts[k][held] for sums in (sums_a, sums_b) for k in (0, 1)]
    codes = np.rint(np.array(means) * 65_535 / 2**20)
    pairs = [(0, 3), (1, 2), (0, 1), (2, 3)]
    expected = corrected(np.array([spearmanr(codes[i], codes[j])[0] for i, j in pairs] + [0]))
    assert tabulate(averages, bins).corrected()[0] == pytest.approx(expected, abs=1e-12)


def test_most_trees_do_not_pass_32_bits() -> None:
    """As many trees as allowed, all of them saying 1 of every pair."""
    forests_module = kernel("forest")
    n, trees = 4, 8_000
    order = np.tile(np.arange(n, dtype=np.int32), (trees, 1))
    value = np.full((trees, n - 1), forests_module.UNIT, np.int32)
    # A pair is in one of the two trees of a split, and a split in one of the two groups.
    sums = np.zeros((n, n), np.int32)
    forests_module.add_rows(order, value, np.arange(0, trees, 4), 0, n, sums)
    assert sums[0, 1] == trees // 4 * forests_module.UNIT
    assert (trees // 4 + 100) * forests_module.UNIT > np.iinfo(np.int32).max

"""Forests with anchors: which rows grow where, what is said of their pairs, and what it tells."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import pdist

from sag_vicreg.artifacts import EmbeddingTable, open_table
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure import compare_tables
from sag_vicreg.structure.anchored_forest import anchored_forests, part_of_forest
from sag_vicreg.structure.anchors import AnchorPlan, choose, choose_from_both
from sag_vicreg.structure.corrected import corrected_similarity
from sag_vicreg.structure.forest_tables import PairAverages, tabulate
from sag_vicreg.structure.kernels.forest import UNIT
from tables import names_of, two_sets, write_folder

N = 1_500
SMALL = {"anchors": 100, "leaves": 300, "trees": 8, "sets": 3}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[EmbeddingTable, EmbeddingTable]:
    """Two tables of the same items in different orders, cut into files differently."""
    root = tmp_path_factory.mktemp("tables")
    a, b = two_sets(N)
    order = np.random.default_rng(1).permutation(N)
    return (
        open_table(write_folder(root / "a", a, names_of(N), files=2, row_group=400)),
        open_table(write_folder(root / "b", b[order], names_of(N)[order], files=5, row_group=90)),
    )


Tables = tuple[EmbeddingTable, EmbeddingTable]


def test_both_tables_choose_the_same_items(tables: Tables) -> None:
    plan = AnchorPlan(N, **SMALL)
    a, b = choose_from_both(*tables, plan, Passes(2), by_position=False)
    np.testing.assert_array_equal(a.keys, b.keys)
    np.testing.assert_array_equal(a.others, b.others)
    for item in (0, 5, len(a.keys) - 1):
        assert tables[0].id_of(int(a.rows[item])) == tables[1].id_of(int(b.rows[item]))
    assert len(plan.orders) > 1
    assert sorted(split for splits in plan.orders for split in splits) == list(range(plan.splits))
    assert len(np.unique(a.anchors)) == plan.sets * plan.anchors
    for split in range(plan.splits):
        (which, one, first), (_, two, second) = a.trees(split)
        assert (which, one, two) == (split % 3, 2 * (split // 3), 2 * (split // 3) + 1)
        for members in (first, second):
            assert len(np.unique(members)) == plan.leaves
            np.testing.assert_array_equal(members[: plan.anchors], a.anchors[which])
        assert len(np.intersect1d(first, second)) == plan.anchors
    assert not np.isin(choose(tables[0], replace(plan, seed=1), Passes()).anchors, a.anchors).all()


def test_items_are_a_uniform_sample(tables: Tables) -> None:
    """Over seeds every row is an anchor about equally often."""
    plan = AnchorPlan(N, **SMALL)
    seeds = 60
    times = np.zeros(N)
    for seed in range(seeds):
        chosen = choose(tables[0], replace(plan, seed=seed), Passes())
        times[chosen.rows[chosen.anchors.reshape(-1)]] += 1
    share = plan.sets * plan.anchors / N
    expected = seeds * share * (1 - share)
    assert 0.8 * expected < times.var() < 1.2 * expected


def test_a_pair_gets_the_mean_over_trees_of_log_size(tables: Tables) -> None:
    """Against SciPy's tree of each sample, whose clusters are counted leaf by leaf."""
    plan = AnchorPlan(N, **SMALL)
    chosen = choose(tables[0], plan, Passes())
    forest = anchored_forests(tables[0], chosen, Passes(), geometry="euclidean", distance="size")[1]
    vectors = tables[0].whole().vectors.astype(np.float64)
    sums = np.zeros((plan.anchors, plan.anchors))
    for split in range(1, plan.splits, plan.sets):
        for _, _, members in chosen.trees(split):
            tree = linkage(pdist(vectors[chosen.rows[members]]), "ward")
            for node in _nodes(to_tree(tree)):
                left, right = (
                    [leaf for leaf in side.pre_order() if leaf < plan.anchors]
                    for side in (node.left, node.right)
                )
                said = np.log(node.count) / np.log(plan.leaves)
                sums[np.ix_(left, right)] += said
                sums[np.ix_(right, left)] += said
    found, _, counts = PairAverages(forest, forest).square(plan.anchors)
    assert (counts == plan.trees // 2).all()
    above = np.triu_indices(plan.anchors, 1)
    np.testing.assert_allclose(found.sum(axis=0)[above] / UNIT, sums[above], atol=1e-4)
    part = part_of_forest(forest, 40, 90)
    cut, _, _ = PairAverages(part, part).square(50)
    for one, other in ((0, 1), (3, 49)):
        assert (cut[:, one, other] == found[:, 40 + one, 40 + other]).all()


def _nodes(root) -> list:
    waiting, found = [root], []
    while waiting:
        node = waiting.pop()
        if not node.is_leaf():
            found.append(node)
            waiting += [node.left, node.right]
    return found


@pytest.mark.parametrize("geometry", ["cosine", "spherical"])
def test_it_agrees_with_the_plain_forest(tables: Tables, geometry: str) -> None:
    s = compare_tables(*tables, geometry=geometry, **SMALL)
    a, b = two_sets(N)
    plain = corrected_similarity(a, b, geometry=geometry, trees=40)
    assert abs(s.spearman - plain) < 4 * s.error + 0.02
    assert s.interval[0] < s.spearman < s.interval[1]
    assert np.isclose(s.spearman, np.mean(s.by_set))
    assert np.isclose(s.error, np.std(s.by_set, ddof=1) / 3**0.5)
    assert (s.n, s.anchors, s.leaves, s.trees, s.sets) == (N, 100, 300, 8, 3)
    assert s.matched_by == "id"
    assert [scale.share for scale in s.by_scale] == [0.001, 0.01, 0.1, 0.5]
    assert s.to_dict()["by_set"] == list(s.by_set)


def test_a_table_agrees_with_itself_turned_and_shuffled(tables: Tables, tmp_path: Path) -> None:
    a, _ = two_sets(N)
    order = np.random.default_rng(2).permutation(N)
    turned = write_folder(tmp_path / "t", 2 * a[order][:, ::-1], names_of(N)[order])
    s = compare_tables(tables[0], open_table(turned), **SMALL)
    assert s.spearman == pytest.approx(1.0, abs=1e-6)
    assert s.twice_the_anchors == pytest.approx(0.0, abs=1e-6)


def test_unrelated_tables_share_nothing(tables: Tables, tmp_path: Path) -> None:
    other = np.random.default_rng(3).permutation(two_sets(N)[1])
    s = compare_tables(
        tables[0], open_table(write_folder(tmp_path / "t", other, names_of(N))), **SMALL
    )
    assert abs(s.spearman) < 4 * s.error + 0.02


def test_neither_threads_nor_memory_nor_files_change_a_bit(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = compare_tables(*tables, **SMALL).by_set
    passed = []
    whole = "sag_vicreg.structure.anchored_forest"
    monkeypatch.setattr(f"{whole}.resident_bytes", lambda: 0)
    monkeypatch.setattr(f"{whole}.tree_bytes", lambda *_: 0)
    monkeypatch.setattr(f"{whole}.BLOCK_BYTES", 0)

    class Counted(Passes):
        def map(self, task, items, *, bar=None):
            passed.append(bar)
            return super().map(task, items, bar=bar)

    tight = compare_tables(*tables, **SMALL, memory=2 * 32 * 1_100, passes=Counted(3))
    assert tight.by_set == expected
    # The choice, two of twelve splits at a time, the anchors and their neighbours.
    assert len(passed) == 2 + 2 * 12 / 2 + 4
    with pytest.raises(InputError, match="too small for trees of 300 leaves: give at least"):
        compare_tables(*tables, **SMALL, memory=40_000)
    a, _ = two_sets(N)
    one = open_table(write_folder(tmp_path / "one", a, names_of(N), files=1, row_group=N))
    assert compare_tables(one, tables[1], **SMALL).by_set == expected


def test_without_ids_rows_are_matched_by_position(tmp_path: Path, tables: Tables) -> None:
    a, b = two_sets(N)
    for name, x in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", x)
    bare = [open_table(tmp_path / f"{name}.npy") for name in "ab"]
    s = compare_tables(*bare, **SMALL)
    assert s.matched_by == "position"
    assert s.by_set == compare_tables(tables[0], bare[1], **SMALL).by_set


def test_tables_of_other_items_are_refused(tables: Tables, tmp_path: Path) -> None:
    a, _ = two_sets(N)
    ids = names_of(N)
    fewer = open_table(write_folder(tmp_path / "u", a[:-3], ids[:-3]))
    with pytest.raises(InputError, match=r"id 'item 149[789]' is missing from .*u \(3 missing"):
        compare_tables(tables[0], fewer, **SMALL)
    with pytest.raises(InputError, match=r"id 'item 149[789]' is missing from .*u \(3 missing"):
        compare_tables(fewer, tables[1], **SMALL)
    ids[700] = ids[3]
    twice = open_table(write_folder(tmp_path / "t", a, ids))
    message = r"id 'item 3' is repeated in .*t \(row 3 of part-0.parquet and row 200 of part-1"
    with pytest.raises(InputError, match=message):
        compare_tables(tables[0], twice, **SMALL)
    np.save(tmp_path / "x.npy", a[:-1])
    with pytest.raises(InputError, match=r"has 1,500 rows and .* has 1,499: without ids"):
        compare_tables(tables[0], open_table(tmp_path / "x.npy"), **SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anchors": 10}, "10 anchors: give at least 50"),
        ({"anchors": 65_001}, "65001 anchors: give at most 65,000"),
        ({"trees": 4_004}, "4004 trees: with anchors, which every tree holds, at most 4,000"),
        ({"leaves": 150}, "150 leaves for 100 anchors: give at least twice"),
        ({"sets": 1}, "an error needs at least 2"),
        ({"trees": 6}, "multiple of 4"),
        ({"leaves": 5_000}, "1,500 rows: 3 sets of 100 anchors in trees of 5,000 leaves need"),
        ({"geometry": "flat"}, "unknown geometry"),
        ({"distance": "path"}, "unknown forest distance"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_are_checked_first(tables: Tables, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_tables(*tables, **SMALL | options)


def test_a_forest_of_all_leaves_counts_all_trees(tables: Tables) -> None:
    """Pairs of anchors are in every tree: none is ever missing."""
    plan = AnchorPlan(N, **SMALL)
    chosen = choose(tables[0], plan, Passes())
    forest = anchored_forests(tables[0], chosen, Passes(), geometry="cosine", distance="level")[0]
    averages = PairAverages(forest, forest)
    tables_ = tabulate(averages, averages.bins())
    assert tables_.missing == 0
    assert tables_.pairs == 100 * 99 // 2

"""What moved: planted motions are found, and only those; rows and branches against plain NumPy."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sag_vicreg.structure import Forest, branches_of, movements, ward_forest
from sag_vicreg.structure.branches import SUPPORT, look_for, partition
from sag_vicreg.structure.damage import add_noise, merge_clusters, quantise, scatter_clusters
from sag_vicreg.structure.forest_tables import PairAverages
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.movements import MOVED
from sag_vicreg.structure.nearest import is_among, nearest_items

RNG = np.random.default_rng(0)
CLASSES = np.repeat(np.arange(6), 40)
SET = 4 * np.eye(6, 8)[CLASSES] + RNG.normal(size=(240, 8))


def forest(x: np.ndarray) -> Forest:
    return ward_forest(x, trees=40)


OLD = forest(SET)


@pytest.fixture(scope="module")
def swapped() -> np.ndarray:
    """Ten items, from ten different places, go to another class."""
    x = SET.copy()
    rows = np.arange(0, 240, 24)
    x[rows] = SET[(rows + 80) % 240]
    return x


def test_nothing_moves_where_nothing_changed() -> None:
    found = movements(OLD, forest(3 * SET))
    assert not found.moved.any()
    assert len(found.movers()) == 0
    assert found.similarity == pytest.approx(np.ones(240))
    assert found.neighbors_lost.max() == 0
    assert {branch.fate for branch in found.branches} == {"kept"}


def test_quantised_digits_do_not_move() -> None:
    x = load_digits().data[:500]
    found = movements(ward_forest(x), ward_forest(quantise(x, 8)))
    assert found.moved.sum() == 0
    assert [branch.fate for branch in found.branches].count("kept") == len(found.branches) > 5


def test_movers_are_the_items_that_moved(swapped: np.ndarray) -> None:
    found = movements(OLD, forest(add_noise(swapped, 0.1)))
    assert sorted(found.rows[found.movers(10)]) == list(range(0, 240, 24))
    assert found.moved.sum() < 15
    assert list(found.movers(3)) == list(found.movers()[:3])
    assert (np.diff(found.motion[found.movers()]) <= 0).all()


def test_an_item_that_moved_with_its_neighbours_did_not_move() -> None:
    x = SET.copy()
    x[CLASSES == 0] += 4 * np.eye(6, 8)[1] - 4 * np.eye(6, 8)[0]  # a whole class joins another
    found = movements(OLD, forest(x))
    went = np.isin(CLASSES[found.rows], [0, 1])
    assert np.median(found.similarity[went]) < 0.9
    assert found.moved[went].mean() < 0.1


def test_an_item_beyond_all_others_moved_if_it_was_not_there_before() -> None:
    far = SET.copy()
    far[7] *= 1000
    old, new = (ward_forest(x, trees=40, geometry="euclidean") for x in (SET, far))
    found = movements(old, new)
    place = np.flatnonzero(found.rows == 7)
    assert found.rows[found.movers()] == [7]
    assert found.similarity[place] == 0
    assert 0.9 < found.reliability[place] < 1
    again = movements(new, ward_forest(3 * far, trees=40, geometry="euclidean"))
    assert again.similarity[place] == 1
    assert not again.moved.any()


@pytest.mark.parametrize("trees", [4, 8, 20])
def test_branches_show_among_few_trees_though_some_pairs_are_in_none(trees: int) -> None:
    classes = np.repeat(np.arange(8), 50)
    apart = np.eye(8)[classes] + np.random.default_rng(0).normal(0, 0.1, (400, 8))
    found = branches_of(ward_forest(apart, trees=trees))
    assert [len(set(classes[branch.rows])) for branch in found] == [1] * 8
    assert [branch.size for branch in found[:7]] == [50] * 7


def test_rows_are_correlated_as_numpy_would(swapped: np.ndarray) -> None:
    new = forest(swapped)
    found = movements(OLD, new)
    # In full: the averages of both groups of trees, all pairs, both triangles.
    sums_a, sums_b, counts = PairAverages(OLD, new).square(240)
    codes = kernel("forest").CODES - 1
    means = []
    for sums in (sums_a, sums_b):
        for group in (0, 1):
            upper = np.rint(sums[group] / kernel("forest").UNIT * codes / counts[group].clip(1))
            means.append(np.triu(upper, 1) + np.triu(upper, 1).T)
    both = np.triu((counts > 0).all(axis=0), 1)
    both |= both.T

    def r(one: int, other: int, item: int) -> float:
        known = both[item]
        return float(np.corrcoef(means[one][item][known], means[other][item][known])[0, 1])

    for item in (0, 5, 117):
        across = (r(0, 3, item) + r(1, 2, item)) / 2
        within = np.sqrt(r(0, 1, item) * r(2, 3, item))
        assert found.similarity[item] == pytest.approx(across / within, abs=1e-4)
        assert found.reliability[item] == pytest.approx(within, abs=1e-4)


def test_more_items_than_partners_go_by_the_first_ones() -> None:
    x = SET.copy()
    x[[3, 203]] = SET[[203, 3]]
    found = movements(OLD, forest(x), partners=120)
    assert set(found.rows[found.movers()]) == {3, 203}
    assert found.flow.counts.sum() == 120


def test_neighbours_are_those_of_a_plain_search() -> None:
    near = nearest_items(OLD.points, 7)
    distances = np.linalg.norm(OLD.points[:, None] - OLD.points, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (near == distances.argsort(axis=1)[:, :7]).all()
    found = movements(OLD, OLD)
    assert (found.old_neighbors[:, :7] == OLD.items[near]).all()
    others = RNG.integers(240, size=(240, 3))
    expected = [[x in others[k] for x in row] for k, row in enumerate(near)]
    assert (is_among(near, others) == expected).all()


@pytest.mark.parametrize(
    ("damage", "fate"), [(scatter_clusters, "scattered"), (merge_clusters, "merged")]
)
def test_branches_meet_the_fate_that_was_planted(damage: object, fate: str) -> None:
    new = damage(SET, CLASSES, 1 / 6, seed=1)  # type: ignore[operator]
    found = movements(OLD, forest(new))
    hit = set(CLASSES[np.abs(new - SET).sum(axis=1) > 1e-9])
    fates = {}
    for branch in found.branches:
        classes, counts = np.unique(CLASSES[branch.rows], return_counts=True)
        if counts.max() > 0.9 * branch.size and branch.size > 30:
            fates[int(classes[counts.argmax()])] = branch.fate
    assert len(hit) == 1
    assert len(fates) == 6
    assert fates[hit.pop()] == fate
    assert list(fates.values()).count("kept") >= 4


def test_a_branch_in_two_places_is_split() -> None:
    rng = np.random.default_rng(1)
    centres = 5 * np.eye(12)
    labels = np.repeat(np.arange(10), 40)
    old = centres[labels] + rng.normal(size=(400, 12))
    new = old.copy()
    half = np.flatnonzero(labels == 0)[:20]
    new[half] += centres[11] - centres[0]
    found = movements(ward_forest(old), ward_forest(new))
    fates = [b.fate for b in found.branches if (labels[b.rows] == 0).mean() > 0.9 and b.size > 30]
    assert fates == ["split"]


def test_support_is_the_share_of_trees_with_nearly_the_same_branch() -> None:
    found = movements(OLD, OLD)
    branch = found.branches[0]
    place = np.argsort(OLD.items)
    members = np.zeros(240, bool)
    members[place[branch.rows]] = True
    recurs = []
    for order, value in zip(OLD.order, OLD.value, strict=True):
        best = 0.0
        for k in range(len(value)):
            low, high = k, k + 1
            while low > 0 and value[low - 1] <= value[k]:
                low -= 1
            while high < len(value) and value[high] <= value[k]:
                high += 1
            cluster = np.isin(np.arange(240), order[low : high + 1])
            here = members & np.isin(np.arange(240), order)
            best = max(best, (cluster & here).sum() / (cluster | here).sum())
        recurs.append(best >= 0.75)
    assert branch.support == pytest.approx(np.mean(recurs))
    assert all(branch.support >= 0.7 for branch in found.branches)


def test_noise_has_no_branches_to_speak_of() -> None:
    noise = forest(RNG.normal(size=(200, 50)))
    found = movements(noise, noise)
    assert found.unresolved == 200 - len({row for b in found.branches for row in b.rows})
    assert found.unresolved > 150


def test_the_flow_counts_every_item_once() -> None:
    found = movements(OLD, forest(merge_clusters(SET, CLASSES, 0.4, seed=2)))
    flow = found.flow
    assert flow.counts.shape == (len(flow.old) + 1, len(flow.new) + 1)
    assert flow.counts.sum() == 240
    assert flow.counts[:-1].sum(axis=1).tolist() == [branch.size for branch in flow.old]
    assert flow.counts[:, :-1].sum(axis=0).tolist() == [branch.size for branch in flow.new]
    assert len(flow.new) < len(flow.old) == 6


def test_a_picture_shows_fine_branches_where_they_cover_coarse_ones() -> None:
    members = np.zeros((5, 100), bool)
    for k, (start, stop) in enumerate([(0, 50), (60, 90), (0, 25), (25, 48), (60, 70)]):
        members[k, start:stop] = True
    assert partition(members) == [1, 2, 3]  # a third of the second is no reason to split it
    assert partition(members[:0]) == []


def test_classes_are_listed_from_the_one_that_moved_most(swapped: np.ndarray) -> None:
    found = movements(OLD, forest(swapped))
    rows = found.by_class(CLASSES)
    assert [row.items for row in rows] == [40] * 6
    shares = {int(row.label): row.moved for row in rows}
    own = CLASSES[found.rows]
    assert shares == {c: (found.motion[own == c] > MOVED).mean() for c in range(6)}
    assert [row.moved for row in rows] == sorted(shares.values(), reverse=True)


def test_the_dictionary_names_items_by_id(swapped: np.ndarray) -> None:
    found = movements(OLD, forest(swapped))
    ids = [f"item-{row}" for row in range(240)]
    content = found.to_dict(ids=ids, labels=CLASSES, count=2)
    assert content["moved"] == found.moved.sum()
    assert len(content["movers"]) == 2
    first = content["movers"][0]
    assert first["item"] == ids[found.rows[found.movers(1)[0]]]
    assert first["old_neighbors"] == [ids[row] for row in found.old_neighbors[found.movers(1)[0]]]
    assert len(content["classes"]) == 6
    assert content["branches"][0]["size"] > 1
    assert found.to_dict()["movers"][0]["item"] == found.rows[found.movers(1)[0]]


def test_giving_up_on_sets_that_cannot_recur_changes_no_branch() -> None:
    rng = np.random.default_rng(3)
    blurred = forest(SET + 0.6 * rng.normal(size=SET.shape))
    # Classes, halves of classes with some strangers, and sets of nothing in particular.
    classes = np.stack([CLASSES[OLD.items] == c for c in range(6)])
    some = np.concatenate([classes, classes & (rng.random(classes.shape) < 0.8)])
    some = np.concatenate([some, rng.random((20, 240)) < 0.1])
    early = 0
    for each in (OLD, blurred):
        recurs = [look_for(some, each, needed=share)[:, :, 0] >= 0.75 for share in (0.0, SUPPORT)]
        whole, given_up = (found.mean(axis=1) for found in recurs)
        counts = whole >= SUPPORT
        assert 0 < counts.sum() < len(some)
        np.testing.assert_array_equal(given_up[counts], whole[counts])
        assert (given_up[~counts] < SUPPORT).all()
        early += int((given_up < whole).sum())
    assert early > 0

"""Untangling and dendrogram coordinates."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram as scipy_dendrogram

from sag_vicreg.arrays import inverse
from sag_vicreg.structure import Tree, dendrogram, entanglement, untangle, ward_tree
from sag_vicreg.structure.tanglegram import turned

Ints = npt.NDArray[np.int64]


def crossings(order_a: Ints, order_b: Ints) -> int:
    places = inverse(order_b)[order_a]
    return int(sum((places[i] > places[i + 1 :]).sum() for i in range(len(places))))


def orders(tree: Tree) -> list[Ints]:
    """Every leaf order the tree's branches allow."""
    found = []
    for swaps in product([False, True], repeat=tree.n - 1):
        leaves: list[list[int]] = [[leaf] for leaf in range(tree.n)]
        for (left, right), swap in zip(tree.children, swaps, strict=True):
            both = leaves[left], leaves[right]
            leaves.append(both[1] + both[0] if swap else both[0] + both[1])
        found.append(np.array(leaves[-1]))
    return found


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_one_tree_is_turned_to_its_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = ward_tree(rng.normal(size=(8, 3)))
    places = rng.permutation(8)
    order, left = turned(tree, places)
    still = np.argsort(places)
    assert left == crossings(order, still)
    assert left == min(crossings(each, still) for each in orders(tree))
    assert any((order == each).all() for each in orders(tree))


def test_untangling_reduces_crossings_and_keeps_clusters_together() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 5))
    a, b = ward_tree(x), ward_tree(x + 0.3 * rng.normal(size=x.shape))
    found = untangle(a, b)
    assert found.crossings == crossings(found.order_a, found.order_b)
    assert found.crossings < crossings(a.leaf_order, b.leaf_order) / 2
    assert found.entanglement < entanglement(a.leaf_order, b.leaf_order)
    for tree, order in ((a, found.order_a), (b, found.order_b)):
        places = inverse(order)
        members: list[list[int]] = [[leaf] for leaf in range(200)]
        for left, right in tree.children:
            members.append(members[left] + members[right])
            assert np.ptp(places[members[-1]]) == len(members[-1]) - 1


def test_a_tree_beside_itself_has_no_crossings() -> None:
    tree = ward_tree(np.random.default_rng(2).normal(size=(100, 4)))
    found = untangle(tree, tree)
    assert (found.crossings, found.entanglement) == (0, 0.0)
    assert entanglement(np.arange(50), np.arange(50)[::-1]) == 1.0


@pytest.mark.parametrize("n", [3, 30])
def test_whole_dendrograms_have_scipys_coordinates(n: int) -> None:
    tree = ward_tree(np.random.default_rng(3).normal(size=(n, 4)))
    drawn = dendrogram(tree)
    expected = scipy_dendrogram(tree.linkage, no_plot=True)
    # SciPy puts leaves at 5, 15, 25 ...
    ours = sorted(map(tuple, np.round(np.hstack([drawn.places * 10, drawn.heights]), 9)))
    theirs = np.hstack([expected["icoord"], expected["dcoord"]])
    assert ours == sorted(map(tuple, np.round(theirs, 9)))
    assert drawn.order.tolist() == expected["leaves"]


def test_the_top_of_a_large_tree_covers_every_leaf() -> None:
    tree = ward_tree(np.random.default_rng(4).normal(size=(500, 6)))
    drawn = dendrogram(tree, top=20)
    assert drawn.places.shape == drawn.heights.shape == (20, 4)
    assert drawn.ends[0, 0] == 0
    assert drawn.ends[-1, 1] == 500
    np.testing.assert_array_equal(drawn.ends[1:, 0], drawn.ends[:-1, 1])
    np.testing.assert_array_equal(np.bincount(drawn.branches), np.diff(drawn.ends)[:, 0])
    assert (np.diff(drawn.branches[drawn.order]) >= 0).all()
    np.testing.assert_allclose(np.sort(drawn.heights[:, 1]), tree.heights[-20:])

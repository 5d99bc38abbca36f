"""Ward trees: SciPy is the oracle without ties, a brute-force replay with them."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import is_valid_linkage, leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from sag_vicreg.structure import GEOMETRIES, Tree, ward_matrix, ward_tree

Floats = npt.NDArray[np.float64]


def unit(x: Floats) -> Floats:
    rows: Floats = x / np.linalg.norm(x, axis=1, keepdims=True)
    return rows


SCIPY: dict[str, Callable[[Floats], Floats]] = {
    "cosine": lambda x: linkage(pdist(x, "cosine"), "ward"),
    "spherical": lambda x: linkage(unit(x), "ward"),
    "euclidean": lambda x: linkage(x, "ward"),
}


def clustered(n: int, d: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    centres = 2 * rng.normal(size=(max(2, n // 40), d))
    points: Floats = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))
    return points


@pytest.mark.parametrize("geometry", GEOMETRIES)
@settings(deadline=None, max_examples=40)
@given(n=st.integers(3, 90), d=st.integers(2, 40), seed=st.integers(0, 2**32 - 1))
def test_equals_scipy_without_ties(geometry: str, n: int, d: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    tree = ward_tree(x, geometry=geometry)
    expected = SCIPY[geometry](x)
    if tree.ties == 0:  # in two dimensions directions can come close enough to tie
        np.testing.assert_array_equal(tree.linkage[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree.heights, expected[:, 2], rtol=0, atol=1e-10)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(("n", "d"), [(3, 1), (700, 3), (1500, 64), (1000, 700)])
def test_equals_scipy_on_many_points(geometry: str, n: int, d: int) -> None:
    if d == 1 and geometry != "euclidean":
        x = np.array([[1.0], [-1.0], [2.0]])  # a line has two directions: ties
        assert ward_tree(x, geometry=geometry).linkage[0, 2] == 0.0
        return
    x = clustered(n, d, seed=n)
    tree = ward_tree(x, geometry=geometry)
    np.testing.assert_allclose(tree.linkage, SCIPY[geometry](x), rtol=0, atol=1e-10)
    assert tree.ties == 0
    assert is_valid_linkage(tree.linkage)
    np.testing.assert_array_equal(tree.leaf_order, leaves_list(tree.linkage))


@pytest.mark.parametrize("geometry", ["spherical", "euclidean"])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_far_from_the_origin_and_at_any_scale(geometry: str, offset: float, scale: float) -> None:
    x = (clustered(300, 8, seed=1) + offset) * scale
    tree, expected = ward_tree(x, geometry=geometry), SCIPY[geometry](x)
    if geometry == "spherical" and scale != 1.0:
        expected = SCIPY[geometry](x / scale)
    np.testing.assert_allclose(tree.heights, expected[:, 2], rtol=1e-9)


def test_nearly_collapsed_directions_keep_their_digits() -> None:
    """All cosines above 1 - 1e-8: one minus a dot product has half its digits left."""
    rng = np.random.default_rng(0)
    x = np.ones((60, 16)) + 1e-5 * rng.normal(size=(60, 16))
    u = unit(x)
    half_squares = 0.5 * pdist(u, "sqeuclidean")
    expected = linkage(half_squares, "ward")[:, 2]
    np.testing.assert_allclose(ward_tree(x).heights, expected, rtol=1e-9)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_points_in_a_chain_take_the_worst_case_path(geometry: str) -> None:
    """Ever wider gaps: one reciprocal pair a round, so the matrix route ends in the chain."""
    n = 700
    angle = 1.2 * np.cumsum(1.01 ** np.arange(n)) / np.sum(1.01 ** np.arange(n))
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(
        ward_tree(x, geometry=geometry).heights, SCIPY[geometry](x)[:, 2], rtol=1e-9, atol=1e-13
    )


def ward_dissimilarities(x: Floats, geometry: str) -> Floats:
    if geometry == "cosine":
        return squareform(0.5 * pdist(unit(x), "sqeuclidean"))
    return squareform(pdist(unit(x) if geometry == "spherical" else x))


def replay(tree: Tree, x: Floats, geometry: str) -> int:
    """Replay every merge on the full matrix, each a nearest pair of both; count tied ones."""
    between = ward_dissimilarities(x, geometry) ** 2
    n = len(x)
    size = dict.fromkeys(range(n), 1)
    squared = {(i, j): between[i, j] for i in range(n) for j in range(n) if i != j}
    ties = 0
    for merge, (left, right, height, _) in enumerate(tree.linkage):
        i, j, new = int(left), int(right), n + merge
        here = max(squared[i, j], 0.0)
        assert height == pytest.approx(np.sqrt(here), abs=1e-7)
        others = [squared[k, z] for k in (i, j) for z in size if z not in (i, j)]
        margin = 1e-7 * (1.0 + here)
        assert all(here <= value + margin for value in others)
        ties += any(value <= (np.sqrt(here) + 1e-9) ** 2 for value in others)
        for z in size:
            if z not in (i, j):
                total = size[i] + size[j] + size[z]
                value = (
                    (size[i] + size[z]) * squared[i, z]
                    + (size[j] + size[z]) * squared[j, z]
                    - size[z] * here
                ) / total
                squared[new, z] = squared[z, new] = value
        size[new] = size.pop(i) + size.pop(j)
    return ties


def grid(seed: int) -> Floats:
    del seed
    return np.array([[i, j, 1.0] for i in range(-3, 4) for j in range(-3, 4)])


def duplicates(seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.repeat(rng.normal(size=(8, 4)), 5, axis=0)[rng.permutation(40)]


def near_duplicates(seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return duplicates(seed) * (1.0 + 1e-16 * rng.integers(-4, 5, size=(40, 1)))


def equidistant(seed: int) -> Floats:
    return np.eye(20)[np.random.default_rng(seed).permutation(20)]


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("make", [grid, duplicates, near_duplicates, equidistant])
@pytest.mark.parametrize("seed", range(3))
def test_with_ties_every_merge_is_reciprocal_nearest(
    geometry: str, make: Callable[[int], Floats], seed: int
) -> None:
    x = make(seed)
    tree = ward_tree(x, geometry=geometry)
    counted = replay(tree, x, geometry)
    # A tie may be gone by the time of the replay, which merges one by one, but not come up.
    assert tree.ties >= counted > 0
    np.testing.assert_array_equal(tree.linkage, ward_tree(x, geometry=geometry).linkage)


@pytest.mark.parametrize("make", [grid, duplicates, near_duplicates, equidistant])
def test_ties_in_rounds_over_the_matrix(
    make: Callable[[int], Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, where small sets too go through rounds and not through the chain."""
    monkeypatch.setattr(ward_matrix, "SMALL", 2)
    x = make(0)
    tree = ward_tree(x, geometry="cosine")
    assert tree.ties >= replay(tree, x, "cosine") > 0


@settings(deadline=None, max_examples=30)
@given(n=st.integers(3, 300), seed=st.integers(0, 2**32 - 1))
def test_rounds_and_chain_agree(n: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, 6))
    chain = ward_tree(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ward_matrix, "SMALL", 2)
        rounds = ward_tree(x)
    np.testing.assert_allclose(rounds.linkage, chain.linkage, rtol=0, atol=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_one_thread_and_many_give_the_same_bits(
    geometry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = clustered(1200, 48, seed=3)
    trees = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        trees.append(ward_tree(x, geometry=geometry))
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.linkage, trees[0].linkage)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_no_candidate_is_lost_to_float32(geometry: str) -> None:
    """Pairs closer than float32 can tell, on top of far larger vectors."""
    rng = np.random.default_rng(4)
    x = np.repeat(100 * rng.normal(size=(40, 24)), 3, axis=0) + 1e-6 * rng.normal(size=(120, 24))
    np.testing.assert_allclose(
        ward_tree(x, geometry=geometry).heights, SCIPY[geometry](x)[:, 2], rtol=0, atol=1e-10
    )


def test_blocks_of_queries_do_not_change_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    x = clustered(700, 10, seed=5)
    expected = ward_tree(x, geometry="euclidean").linkage
    monkeypatch.setenv("OMP_NUM_THREADS", "40")  # in as many blocks
    np.testing.assert_array_equal(ward_tree(x, geometry="euclidean").linkage, expected)

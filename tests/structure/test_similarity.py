"""LCA and cophenetic similarity against pair-by-pair oracles, known values and invariants."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau, pearsonr, spearmanr

from sag_vicreg.errors import InputError
from sag_vicreg.structure import (
    GEOMETRIES,
    LCA_DISTANCES,
    Tree,
    compare,
    cophenetic_similarity,
    joint,
    joint_table,
    lca_similarity,
    ward_tree,
)
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.lca import _marginals, similarity_of

Floats = npt.NDArray[np.float64]


def lca_distances(tree: Tree, lca: str) -> Floats:
    """The distance of every pair, by climbing from both leaves to where they meet."""
    n = tree.n
    parent = np.full(2 * n - 1, -1)
    level = np.zeros(2 * n - 1)
    for merge, (left, right) in enumerate(tree.linkage[:, :2].astype(int)):
        parent[[left, right]] = n + merge
        level[n + merge] = 1 + max(level[left], level[right])
    distances = []
    for i in range(n):
        above = [i]
        while parent[above[-1]] >= 0:
            above.append(int(parent[above[-1]]))
        steps = {node: step for step, node in enumerate(above)}
        for j in range(i + 1, n):
            node, edges = j, 0
            while node not in steps:
                node, edges = int(parent[node]), edges + 1
            distances.append(
                {
                    "level": level[node],
                    "path": edges + steps[node],
                    "order": node - n + 1,
                    "height": tree.heights[node - n],
                }[lca]
            )
    return np.array(distances, dtype=float)


def pair_of_trees(n: int, seed: int, noise: float = 1.0, geometry: str = "cosine") -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    y = np.hstack([x, np.ones((n, 1))]) + noise * rng.normal(size=(n, 7))
    return ward_tree(x, geometry=geometry), ward_tree(y, geometry=geometry)


def chain_tree(n: int, order: npt.NDArray[np.int64]) -> Tree:
    """One leaf after the other joins a growing cluster: the deepest tree there is."""
    rows = [[order[0], order[1], 1.0, 2.0]]
    rows += [[order[k], n + k - 2, float(k), k + 1.0] for k in range(2, n)]
    return Tree(np.array(rows))


@pytest.mark.parametrize("lca", LCA_DISTANCES)
@settings(deadline=None, max_examples=25)
@given(n=st.integers(4, 45), seed=st.integers(0, 2**32 - 1), noise=st.floats(0.0, 4.0))
def test_lca_similarity_equals_scipy(lca: str, n: int, seed: int, noise: float) -> None:
    a, b = pair_of_trees(n, seed, noise)
    p, q = lca_distances(a, lca), lca_distances(b, lca)
    found = lca_similarity(a, b, lca=lca)
    assert found.pearson == pytest.approx(pearsonr(p, q).statistic, abs=1e-11)
    assert found.spearman == pytest.approx(spearmanr(p, q).statistic, abs=1e-11)
    assert found.kendall == pytest.approx(kendalltau(p, q).statistic, abs=1e-11)


@pytest.mark.parametrize("lca", LCA_DISTANCES)
@pytest.mark.parametrize("shape", ["balanced over chain", "chain over balanced", "two chains"])
def test_deep_trees(lca: str, shape: str) -> None:
    n, rng = 40, np.random.default_rng(0)
    balanced, _ = pair_of_trees(n, 0)
    chains = [chain_tree(n, rng.permutation(n)) for _ in range(2)]
    a, b = {
        "balanced over chain": (balanced, chains[0]),
        "chain over balanced": (chains[0], balanced),
        "two chains": (chains[0], chains[1]),
    }[shape]
    p, q = lca_distances(a, lca), lca_distances(b, lca)
    found = lca_similarity(a, b, lca=lca)
    assert found.kendall == pytest.approx(kendalltau(p, q).statistic, abs=1e-11)
    assert found.spearman == pytest.approx(spearmanr(p, q).statistic, abs=1e-11)


@pytest.mark.parametrize("lca", LCA_DISTANCES)
def test_large_tables_are_counted_in_cells_or_parts(lca: str) -> None:
    a, b = pair_of_trees(120, 1)
    in_parts = joint_table(a, b, lca, whole=60)
    np.testing.assert_array_equal(in_parts.dense(), joint_table(a, b, lca).dense())
    assert similarity_of(in_parts) == lca_similarity(a, b, lca=lca)


def test_joint_table_counts_every_pair_once() -> None:
    a, b = pair_of_trees(57, 2)
    table = joint_table(a, b, "level").dense()
    levels = [lca_distances(tree, "level").astype(int) for tree in (a, b)]
    expected = np.zeros_like(table)
    np.add.at(expected, (levels[0] - 1, levels[1] - 1), 1)
    np.testing.assert_array_equal(table, expected)
    assert table.sum() == 57 * 56 // 2


def test_tied_heights_share_a_rank() -> None:
    heights = np.array([1.0, 1.0, 2.0, 2.0, 3.0])
    rows = np.array([[0, 1], [2, 3], [4, 6], [5, 7], [8, 9]])
    a = Tree(np.column_stack([rows, heights, [2, 2, 3, 3, 6]]))
    b, _ = pair_of_trees(6, 3)
    p, q = lca_distances(a, "height"), lca_distances(b, "height")
    found = lca_similarity(a, b, lca="height")
    assert found.kendall == pytest.approx(kendalltau(p, q).statistic, abs=1e-12)
    assert found.spearman == pytest.approx(spearmanr(p, q).statistic, abs=1e-12)


def test_bakers_gamma_of_known_trees() -> None:
    """Spearman of the merge ranks (Baker, 1974), worked out by hand for four leaves.

    Tree A joins 01, then 2, then 3; tree B joins 23, then 1, then 0. Pairs 01 02 12 03 13 23 have
    ranks 1 2 2 3 3 3 in A and 3 3 2 3 2 1 in B; mid-ranks 1 2.5 2.5 5 5 5 and 5 5 2.5 5 2.5 1.
    """
    a = Tree(np.array([[0, 1, 1.0, 2], [2, 4, 2.0, 3], [3, 5, 3.0, 4]]))
    b = Tree(np.array([[2, 3, 1.0, 2], [1, 4, 2.0, 3], [0, 5, 3.0, 4]]))
    ranks_a = np.array([1, 2.5, 2.5, 5, 5, 5])
    ranks_b = np.array([5, 5, 2.5, 5, 2.5, 1])
    expected = np.corrcoef(ranks_a, ranks_b)[0, 1]
    assert lca_similarity(a, b, lca="order").spearman == pytest.approx(expected, abs=1e-12)
    assert lca_similarity(a, a, lca="order").spearman == 1.0


@pytest.mark.parametrize("lca", LCA_DISTANCES)
def test_a_tree_is_exactly_itself(lca: str) -> None:
    tree, _ = pair_of_trees(500, 4)
    found = lca_similarity(tree, tree, lca=lca)
    assert (found.spearman, found.kendall) == (1.0, 1.0)
    assert found.pearson == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("lca", LCA_DISTANCES)
def test_rotation_scaling_and_joint_permutation_change_nothing(geometry: str, lca: str) -> None:
    rng = np.random.default_rng(5)
    a = np.repeat(3 * rng.normal(size=(6, 8)), 25, axis=0) + rng.normal(size=(150, 8))
    b = a @ rng.normal(size=(8, 5)) + rng.normal(size=(150, 5))
    expected = compare(a, b, geometry=geometry, lca=lca, trees=0).values()
    rotation = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    order = rng.permutation(150)
    for left, right in ((a @ rotation, b), (3.0 * a, 0.01 * b), (a[order], b[order])):
        found = compare(left, right, geometry=geometry, lca=lca, trees=0).values()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    relabelled = compare(a, b[order], geometry=geometry, lca=lca, trees=0).values()
    assert (np.abs(relabelled - expected) > 0.05).all()


def pairwise(x: Floats, geometry: str) -> Floats:
    if geometry == "cosine":
        return np.asarray(pdist(x, "cosine"))
    if geometry == "spherical":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(pdist(x))


@pytest.mark.parametrize("geometry", GEOMETRIES)
@settings(deadline=None, max_examples=25)
@given(n=st.integers(4, 60), d=st.integers(3, 80), seed=st.integers(0, 2**32 - 1))
def test_cophenetic_similarity_equals_scipy(geometry: str, n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, 4))
    trees = ward_tree(x, geometry=geometry), ward_tree(y, geometry=geometry)
    found = cophenetic_similarity(*trees)
    there = pearsonr(cophenet(trees[0].linkage), pairwise(y, geometry)).statistic
    back = pearsonr(cophenet(trees[1].linkage), pairwise(x, geometry)).statistic
    assert found.d1_to_p2 == pytest.approx(there, abs=1e-10)
    assert found.d2_to_p1 == pytest.approx(back, abs=1e-10)


def test_cophenetic_similarity_over_many_blocks() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(700, 5)), rng.normal(size=(700, 9))
    trees = ward_tree(x, geometry="euclidean"), ward_tree(y, geometry="euclidean")
    expected = pearsonr(cophenet(trees[0].linkage), pdist(y)).statistic
    assert cophenetic_similarity(*trees).d1_to_p2 == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_huge_and_tiny_points_are_as_good_as_others(scale: float) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 80, 5))
    trees = ward_tree(a, geometry="euclidean"), ward_tree(b, geometry="euclidean")
    plain = cophenetic_similarity(*trees)
    scaled = cophenetic_similarity(trees[0], ward_tree(scale * b, geometry="euclidean"))
    assert scaled.d1_to_p2 == pytest.approx(plain.d1_to_p2, rel=1e-12)
    assert scaled.d2_to_p1 == pytest.approx(plain.d2_to_p1, rel=1e-12)


def test_cophenetic_similarity_keeps_its_digits_on_collapsed_embeddings() -> None:
    """Distances of 1e-10 beside dot products of 1: sums of raw cosines would lose them all."""
    rng = np.random.default_rng(7)
    x = np.ones((80, 6)) + 1e-5 * rng.normal(size=(80, 6))
    y = rng.normal(size=(80, 6))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    trees = ward_tree(y), ward_tree(x)
    expected = pearsonr(cophenet(trees[0].linkage), 0.5 * pdist(unit, "sqeuclidean")).statistic
    assert cophenetic_similarity(*trees).d1_to_p2 == pytest.approx(expected, abs=1e-6)


def test_trees_of_your_own_have_no_distances() -> None:
    a, _ = pair_of_trees(10, 8)
    bare = Tree(a.linkage)
    assert lca_similarity(a, bare).pearson == 1.0
    with pytest.raises(InputError, match="no points"):
        cophenetic_similarity(a, bare)
    with pytest.raises(InputError, match="10 and 11 leaves"):
        lca_similarity(a, pair_of_trees(11, 8)[0])


def test_a_matrix_that_is_no_linkage_is_refused() -> None:
    with pytest.raises(InputError, match="expected"):
        Tree(np.zeros((5, 3)))
    with pytest.raises(InputError, match="not a linkage"):
        Tree(np.array([[0, 1, 1.0, 2], [0, 2, 2.0, 2], [4, 5, 3.0, 4]]))
    with pytest.raises(InputError, match="not a linkage"):
        Tree(np.array([[0, 1, 2.0, 2], [2, 3, 1.0, 2], [4, 5, 3.0, 4]]))


def test_constant_heights_have_no_correlation() -> None:
    flat = Tree(np.array([[0, 1, 0.0, 2], [2, 4, 0.0, 3], [3, 5, 0.0, 4]]))
    with pytest.raises(InputError, match="second tree: the correlation is undefined"):
        lca_similarity(
            Tree(flat.linkage + np.array([0, 0, 1, 0]) * [[1], [2], [3]]), flat, lca="height"
        )


@pytest.mark.parametrize("n", [92_000, 200_000, 8_000_000, 150_000_000])
def test_counts_wider_than_int64(n: int) -> None:
    """Pairs of pairs pass 2**63 near n = 93,000; Python's own integers are the oracle."""
    pairs = n * (n - 1) // 2
    rng = np.random.default_rng(9)
    share = rng.dirichlet(np.ones(12)).reshape(3, 4)
    counts = (share * pairs).astype(np.int64)
    counts[0, 0] += pairs - counts.sum()
    cells = np.argwhere(counts).astype(np.int32, order="C")
    table = joint.JointTable(cells, counts[counts > 0], np.arange(1, 4), np.arange(1, 5))
    exact = [[int(c) for c in row] for row in counts]
    concordant = sum(
        exact[i][j] * exact[k][m]
        for i in range(3)
        for j in range(4)
        for k in range(i)
        for m in range(j)
    )
    discordant = sum(
        exact[i][j] * exact[k][m]
        for i in range(3)
        for j in range(4)
        for k in range(i)
        for m in range(j + 1, 4)
    )
    half = pairs * (pairs - 1) // 2
    tied_a = sum(c * (c - 1) // 2 for c in map(sum, exact))
    tied_b = sum(c * (c - 1) // 2 for c in map(sum, zip(*exact, strict=True)))
    expected = (concordant - discordant) / math.sqrt((half - tied_a) * (half - tied_b))
    assert max(concordant, discordant) > 2**60
    found = similarity_of(table)
    assert found.kendall == pytest.approx(expected, abs=1e-15)
    totals = np.zeros((2, 2), np.uint64)
    starts = np.searchsorted(cells[:, 0], np.arange(4))
    kernel("ranks").concordance(table.cells, table.counts, starts, 4, totals)
    low, high = totals[0].tolist()
    assert (high << 64) + low == concordant
    # Spearman's rho: Pearson's r of mid-ranks, here of twice those.
    by_a, by_b = [sum(row) for row in exact], [sum(column) for column in zip(*exact, strict=True)]
    ranks_a, ranks_b = (
        [2 * sum(by[:k]) + count + 1 - (pairs + 1) for k, count in enumerate(by)]
        for by in (by_a, by_b)
    )
    together = sum(
        ranks_a[i] * ranks_b[j] * exact[i][j] for i in range(len(by_a)) for j in range(len(by_b))
    )
    spread = math.prod(
        sum(count * rank**2 for count, rank in zip(by, ranks, strict=True))
        for by, ranks in ((by_a, ranks_a), (by_b, ranks_b))
    )
    assert found.spearman == pytest.approx(together / math.isqrt(spread), abs=1e-15)


@pytest.mark.parametrize("lca", ["order", "height"])
def test_merges_at_one_height_do_not_make_the_order_of_rows_matter(lca: str) -> None:
    """Pairs of twins, all equally far apart: no merge has another choice, and all are equal."""
    rng = np.random.default_rng(0)
    centres = 100.0 * rng.normal(size=(12, 3))
    twins = np.concatenate([centres, centres + np.array([1.0, 0.0, 0.0])])
    other = rng.normal(size=(24, 3))
    expected = compare(twins, other, geometry="euclidean", lca=lca, trees=0)
    assert expected.ties == (0, 0)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(24)
        found = compare(twins[rows], other[rows], geometry="euclidean", lca=lca, trees=0)
        np.testing.assert_allclose(found.values(), expected.values(), atol=1e-12)


def test_pairs_that_floats_cannot_count_are_counted() -> None:
    many = 2**53
    counts = np.array([[many, 1], [0, 3]])
    table = joint.JointTable.of(counts, np.arange(2), np.arange(2))
    assert [each.tolist() for each in _marginals(table)] == [[many + 1, 3], [many, 4]]

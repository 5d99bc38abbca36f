"""Micro-clusters of tables and their trees, against SciPy and plain loops over pairs."""

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform
from scipy.stats import pearsonr, spearmanr

from sag_vicreg.artifacts import open_table
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure.cluster_similarity import (
    compare_clusters,
    contingency,
    pair_table,
    weighted_ward,
)
from sag_vicreg.structure.lca import similarity_of
from sag_vicreg.structure.micro_clusters import MicroClusters, micro_clusters
from tables import names_of, two_sets, write_folder

N = 1_200
RNG = np.random.default_rng(0)


def test_with_weights_of_one_it_is_ward() -> None:
    x = RNG.normal(size=(300, 5))
    found = weighted_ward(x, np.ones(300, np.int64), "euclidean")
    np.testing.assert_allclose(found.linkage, linkage(x, "ward"), rtol=1e-9)


def test_with_weights_it_is_ward_of_as_many_equal_points() -> None:
    x, weights = RNG.normal(size=(60, 4)), RNG.integers(1, 9, size=60)
    found = weighted_ward(x, weights, "euclidean")
    expected = linkage(np.repeat(x, weights, axis=0), "ward")
    above = expected[expected[:, 2] > 1e-9]
    assert len(above) == 59
    np.testing.assert_allclose(found.heights, above[:, 2], rtol=1e-9)
    sizes = np.concatenate([weights, np.zeros(59, int)])
    for merge, (left, right) in enumerate(found.children):
        sizes[60 + merge] = sizes[left] + sizes[right]
    np.testing.assert_array_equal(sizes[60:], above[:, 3])


def log_sizes(clusters: MicroClusters) -> np.ndarray:
    """Say of each pair of rows what the tree of clusters says, by SciPy and leaf lists."""
    k = len(clusters.sizes)
    n = clusters.sizes.sum()
    tree = weighted_ward(clusters.means, clusters.sizes, "euclidean")
    said = np.diag(np.log(clusters.sizes) / np.log(n))
    waiting = [to_tree(tree.linkage)]
    while waiting:
        node = waiting.pop()
        if not node.is_leaf():
            left, right = node.left.pre_order(), node.right.pre_order()
            value = np.log(clusters.sizes[left + right].sum()) / np.log(n)
            said[np.ix_(left, right)] = said[np.ix_(right, left)] = value
            waiting += [node.left, node.right]
    assert said.shape == (k, k)
    rows = said[np.ix_(clusters.labels, clusters.labels)]
    np.fill_diagonal(rows, 0)
    return squareform(rows, checks=False)


def test_every_pair_of_items_counts(tmp_path: Path) -> None:
    a, b = two_sets(N)
    order = np.random.default_rng(1).permutation(N)
    tables = (
        open_table(write_folder(tmp_path / "a", a, names_of(N))),
        open_table(write_folder(tmp_path / "b", b[order], names_of(N)[order], row_group=170)),
    )
    one, other = (micro_clusters(t, Passes(2), clusters=60) for t in tables)
    counts = contingency(*tables, one, other, Passes())
    assert counts.sum() == N
    assert 60 < counts.nnz < N
    table = pair_table(counts, one, other)
    assert table.counts.sum() == N * (N - 1) // 2
    aligned = MicroClusters(
        other.geometry, other.means, other.sizes, other.labels[np.argsort(order)], other.within
    )
    expected = log_sizes(one), log_sizes(aligned)
    found = similarity_of(table)
    assert found.pearson == pytest.approx(pearsonr(*expected).statistic, abs=1e-9)
    assert found.spearman == pytest.approx(spearmanr(*expected).statistic, abs=1e-9)
    assert compare_clusters(*tables, clusters=60).spearman == found.spearman
    rough = similarity_of(pair_table(counts, one, other, most_codes=64))
    assert rough.spearman == pytest.approx(found.spearman, abs=0.02)
    assert rough.spearman != found.spearman


def test_rows_go_to_the_mean_of_their_cluster(tmp_path: Path) -> None:
    x = two_sets(N)[0].astype(np.float64)
    table = open_table(write_folder(tmp_path / "t", x))
    found = micro_clusters(table, Passes(), clusters=100, geometry="euclidean")
    assert 60 < len(found.sizes) <= 100
    np.testing.assert_array_equal(np.bincount(found.labels), found.sizes)
    for cluster in range(len(found.sizes)):
        members = x[found.labels == cluster]
        np.testing.assert_allclose(members.mean(axis=0), found.means[cluster])
    left = ((x - found.means[found.labels]) ** 2).sum()
    assert found.within == pytest.approx(left / ((x - x.mean(axis=0)) ** 2).sum())
    # Three refinements of k-means are better than one, and far better than chance.
    once = micro_clusters(table, Passes(), clusters=100, geometry="euclidean", refinements=1)
    assert found.within <= once.within < 0.5


def test_where_the_points_lie_as_a_whole_does_not_matter(tmp_path: Path) -> None:
    x = two_sets(N)[0].astype(np.float64)
    here, far = (
        micro_clusters(
            open_table(write_folder(tmp_path / f"{offset}", x + offset)),
            Passes(),
            clusters=50,
            geometry="euclidean",
        )
        for offset in (0.0, 2.0**30)
    )
    assert far.within == pytest.approx(here.within, rel=1e-6)
    np.testing.assert_array_equal(here.labels, far.labels)


def test_there_are_no_more_clusters_than_asked_for(tmp_path: Path) -> None:
    """A few points far out are cells of their own: each gets a cluster, which others give up."""
    x = np.random.default_rng(0).standard_cauchy(size=(4_000, 4))
    table = open_table(write_folder(tmp_path / "t", x))
    for clusters in (60, 200):
        found = micro_clusters(table, Passes(), clusters=clusters, geometry="euclidean")
        assert clusters - 20 < len(found.sizes) <= clusters


def test_as_many_clusters_as_rows_is_the_exact_tree(tmp_path: Path) -> None:
    a, b = two_sets(300)
    tables = [open_table(write_folder(tmp_path / name, x)) for name, x in (("a", a), ("b", b))]
    found = compare_clusters(*tables, clusters=300, geometry="euclidean")
    assert found.clusters == (300, 300)
    assert found.within == pytest.approx((0.0, 0.0), abs=1e-12)
    said = []
    for x in (a, b):
        rows = np.arange(300, dtype=np.uint16)
        ones = MicroClusters("euclidean", x.astype(np.float64), np.ones(300, int), rows, 0.0)
        said.append(log_sizes(ones))
    assert found.spearman == pytest.approx(spearmanr(*said).statistic, abs=1e-9)


def test_neither_threads_nor_files_change_a_bit(tmp_path: Path) -> None:
    x = two_sets(N)[0]
    table = open_table(write_folder(tmp_path / "t", x, row_group=64))
    one, many = (micro_clusters(table, Passes(k), clusters=50) for k in (1, 3))
    np.testing.assert_array_equal(one.means, many.means)
    np.testing.assert_array_equal(one.labels, many.labels)
    whole = open_table(write_folder(tmp_path / "w", x, files=1, row_group=N))
    again = micro_clusters(whole, Passes(), clusters=50)
    np.testing.assert_array_equal(one.labels, again.labels)
    np.testing.assert_allclose(one.means, again.means, rtol=1e-12)


def test_faults_are_one_line(tmp_path: Path) -> None:
    x = two_sets(N)[0]
    table = open_table(write_folder(tmp_path / "t", x))
    with pytest.raises(InputError, match="only in 'spherical' and 'euclidean'"):
        micro_clusters(table, Passes(), geometry="cosine")
    with pytest.raises(InputError, match="2 micro-clusters: give between 3 and"):
        micro_clusters(table, Passes(), clusters=2)
    with pytest.raises(InputError, match="0 refinements: centres become means"):
        micro_clusters(table, Passes(), refinements=0)
    with pytest.raises(InputError, match="too small for 100 micro-clusters: give at least"):
        micro_clusters(table, Passes(), clusters=100, memory=10_000_000)
    flat = open_table(write_folder(tmp_path / "f", np.ones((100, 3), np.float32)))
    with pytest.raises(InputError, match="its rows are 1 points"):
        micro_clusters(flat, Passes(), clusters=10)

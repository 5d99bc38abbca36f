"""Hierarchical Rand index: scikit-learn's clustering and scores as oracles, graphs in pieces."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, rand_score

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import rand_index
from sag_vicreg.evaluation.rand import agreement
from sag_vicreg.evaluation.spectral import connect, knn_graph
from sag_vicreg.hierarchy import Hierarchy, load_hierarchy

TREE = load_hierarchy("cifar100")


def clustered(n: int, noise: float, classes: int = 100) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    center = sum(
        rng.standard_normal((len(TREE.names_at(level)), 32))[TREE.labels_at(level)] / level
        for level in range(1, 5)
    )
    labels = np.arange(n) % classes
    return center[labels] + noise * rng.standard_normal((n, 32)), labels


def oracle(vectors: np.ndarray, count: int) -> np.ndarray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    model = SpectralClustering(
        count, affinity="nearest_neighbors", n_neighbors=10, random_state=0, eigen_tol=1e-8
    )
    return model.fit_predict(unit)


# Up to 1,000 points the eigensolver is the dense one.
@pytest.mark.parametrize(("n", "noise"), [(900, 1.2), (1500, 1.2), (1500, 2.0)])
def test_scores_equal_scikit_learns_spectral_clustering(n: int, noise: float) -> None:
    vectors, labels = clustered(n, noise)
    counts = (3, 7, 20, 60, 100)
    scores = rand_index(vectors, labels, TREE, cluster_counts=counts)
    assert scores.components == 1  # in pieces, the oracle's result is arbitrary
    assert [score.n_clusters for score in scores.by_count] == list(counts)
    for score in scores.by_count:
        expected = oracle(vectors, score.n_clusters)
        assert score.rand == pytest.approx(rand_score(labels, expected), abs=0.01)
        assert score.adjusted_rand == pytest.approx(adjusted_rand_score(labels, expected), abs=0.03)
    assert [score.n_clusters for score in scores.by_level] == [3, 7, 20, 100]
    assert scores.by_level[-1] == scores.by_count[-1]


def test_adjusted_rand_is_rand_against_chance() -> None:
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(0, 9, 400), rng.integers(0, 30, 400)
    score = agreement(labels, clusters, 30)
    assert score.rand == pytest.approx(score.by_chance, abs=0.005)
    assert score.adjusted_rand == pytest.approx(
        (score.rand - score.by_chance) / (1 - score.by_chance)
    )


def test_the_plain_index_rises_with_the_number_of_clusters_of_pure_noise() -> None:
    noise, labels = np.random.default_rng(0).standard_normal((1500, 16)), np.arange(1500) % 100
    scores = rand_index(noise, labels, TREE, cluster_counts=(5, 20, 80)).by_count
    assert scores[0].rand < scores[1].rand < scores[2].rand
    assert all(abs(score.adjusted_rand) < 0.01 for score in scores)


def test_a_graph_in_pieces_is_tied_together_and_reported() -> None:
    """A hundred far-apart points, each many times: the pieces must still group by superclass."""
    vectors, labels = clustered(2000, 1e-4)
    scores = rand_index(vectors, labels, TREE, cluster_counts=(100,))
    assert scores.components == 100
    assert scores.by_level[3].rand == 1.0
    assert scores.by_level[0].adjusted_rand > 0.5
    assert scores.settings()["components"] == 100


def test_bridges_go_to_the_nearest_point_outside() -> None:
    angles = np.deg2rad([0, 1, 2, 20, 21, 22, 80, 81, 82])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    graph = knn_graph(vectors, 3)
    tied, components = connect(graph, vectors)
    assert components == 3
    assert connected_components(tied)[0] == 1
    added = (tied - graph).tocoo()
    edges = {
        (int(i), int(j)) for i, j, v in zip(added.row, added.col, added.data, strict=True) if v
    }
    assert edges == {(2, 3), (3, 2), (5, 6), (6, 5)}


def test_perfect_and_constant_embeddings() -> None:
    labels = np.arange(500) % 100
    perfect = rand_index(np.eye(100)[labels], labels, TREE, n_neighbors=5)
    assert perfect.by_level[3].rand == 1.0
    assert perfect.by_level[3].nmi == pytest.approx(1.0)
    constant = rand_index(np.ones((500, 4)), labels, TREE)
    assert all(abs(score.adjusted_rand) < 0.05 for score in constant.by_level)


def test_only_classes_that_occur_count() -> None:
    vectors, labels = clustered(300, 0.3, classes=10)
    scores = rand_index(vectors, labels, TREE)
    present = [len(np.unique(TREE.encode(labels, level))) for level in range(1, 5)]
    assert [score.n_clusters for score in scores.by_level] == present
    assert [score.n_clusters for score in scores.by_count] == [20, 40, 60, 80, 100, 120, 140]


def test_results_repeat_exactly_and_are_named_by_level_and_count() -> None:
    vectors, labels = clustered(400, 0.5)
    scores = rand_index(vectors, labels, TREE, cluster_counts=(20, 10))
    assert scores == rand_index(vectors, labels, TREE, cluster_counts=(20, 10))
    keys = {"level1", "level2", "level3", "level4", "clusters10", "clusters20"}
    measures = ("rand", "rand_by_chance", "ari", "nmi")
    assert scores.scores().keys() == {f"{m}.{key}" for m in measures for key in keys}
    assert scores.scores()["ari.clusters20"] == scores.by_count[1].adjusted_rand


def test_a_level_of_one_group_is_trivially_right() -> None:
    tree = Hierarchy((("all", "a"), ("all", "b"), ("all", "c")))
    vectors, labels = clustered(60, 0.1, classes=3)
    score = rand_index(vectors, labels, tree).by_level[0]
    assert (score.n_clusters, score.rand) == (1, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_neighbors": 31}, "n_neighbors is 31 but there are 30 points"),
        ({"n_neighbors": 1}, "n_neighbors is 1"),
        ({"cluster_counts": (31,)}, "31 clusters of 30 points"),
        ({"cluster_counts": (0,)}, "0 clusters"),
        ({"labels": np.zeros(30, dtype=int)}, "every point of vectors is of class 'apple'"),
        ({"labels": np.full(30, "unicorn")}, "unicorn"),
        ({"vectors": np.full((30, 2), np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict, message: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((30, 4))
    arguments = {"vectors": vectors, "labels": np.arange(30), "hierarchy": TREE}
    with pytest.raises(InputError, match=message):
        rand_index(**(arguments | change))


def test_clusterings_are_computed_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """How sums are split over threads decides their last bits, and those the clusters."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_info, threadpool_limits

    from sag_vicreg.evaluation.spectral import spectral_clusterings

    seen = []

    def kmeans(means: KMeans, points: np.ndarray) -> np.ndarray:
        seen.append(max(pool["num_threads"] for pool in threadpool_info()))
        return np.arange(len(points)) % means.n_clusters

    monkeypatch.setattr(KMeans, "fit_predict", kmeans)
    with threadpool_limits(2):
        spectral_clusterings(clustered(100, 0.5)[0], [5, 10], n_neighbors=10, seed=0)
    assert seen == [1, 1]

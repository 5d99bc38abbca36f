"""The map in the plane keeps neighbours together, whatever it is given."""

import numpy as np
import pytest

from sag_vicreg.evaluation.plane import NEIGHBORS, neighbors_and_distances, project


@pytest.mark.filterwarnings("ignore:precomputed_knn")
def test_umap_builds_the_same_graph_from_our_neighbours_as_from_its_own() -> None:
    from umap import UMAP

    vectors = np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32)
    options = {
        "n_neighbors": NEIGHBORS,
        "metric": "cosine",
        "init": "pca",
        "transform_mode": "graph",
    }
    own = UMAP(**options).fit(vectors).graph_
    ours = UMAP(**options, precomputed_knn=neighbors_and_distances(vectors)).fit(vectors).graph_
    np.testing.assert_allclose(ours.toarray(), own.toarray(), atol=1e-4)


def test_clusters_stay_together_and_a_seed_gives_one_map() -> None:
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 8)
    centres = generator.normal(size=(6, 16))
    vectors = centres[labels] + 0.05 * generator.normal(size=(48, 16))
    plane = project(vectors, seed=0)
    assert plane.shape == (48, 2)
    np.testing.assert_array_equal(plane, project(vectors, seed=0))
    distance = np.linalg.norm(plane[:, None] - plane[None], axis=2) + np.eye(48) * 1e9
    assert (labels[distance.argmin(axis=1)] == labels).mean() > 0.9


def test_duplicates_are_mapped_beside_each_other() -> None:
    vectors = np.random.default_rng(1).normal(size=(20, 5)).repeat(3, axis=0)
    plane = project(vectors, seed=0).reshape(20, 3, 2)
    within = np.ptp(plane, axis=1).max()
    assert np.isfinite(plane).all()
    assert within < np.ptp(plane.reshape(-1, 2), axis=0).min()


def test_few_points_and_few_dimensions_are_still_mapped() -> None:
    vectors = np.random.default_rng(2).normal(size=(20, 5))
    assert project(vectors[:4], seed=0).shape == (4, 2)
    assert project(vectors[:4, :1], seed=0).shape == (4, 2)
    assert project(vectors[:, :2], seed=0).shape == (20, 2)
    assert np.ptp(project(np.ones((20, 5)), seed=0)) == 0

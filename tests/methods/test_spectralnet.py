"""SpectralNet against the exact eigenvectors of the same Laplacian, and its manners."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sag_vicreg.errors import InputError
from sag_vicreg.methods.spectralnet import (
    SpectralNet,
    knn_affinity,
    orthonormalize,
    spectralnet_loss,
)
from sag_vicreg.reproduce.unseen_cluster import unseen_cluster


def arc(n: int, seed: int = 0) -> NDArray[np.float64]:
    """Points along three quarters of a noisy ring: one connected graph, a simple spectrum."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 4, n), 1 + 0.1 * rng.standard_normal(n)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)]


def blobs(n: int, seed: int = 0) -> NDArray[np.float64]:
    """Three far groups: a graph of three components, so eigenvalue zero three times."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0], [6, 0], [3, 5]])
    return centers[np.arange(n) % 3] + 0.5 * rng.standard_normal((n, 2))


def exact_eigenvectors(
    points: NDArray[Any], k: int, n_neighbors: int = 10
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Eigenvalues and the k first eigenvectors of D - W, with W from first principles."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    w = np.zeros_like(distance)
    for i, row in enumerate(distance):
        near = np.argsort(row)[:n_neighbors]
        w[i, near] = np.exp(-((row[near] / np.median(row[near])) ** 2))
    w = (w + w.T) / 2
    values, vectors = np.linalg.eigh(np.diag(w.sum(axis=1)) - w)
    return values, vectors[:, :k]


@pytest.mark.parametrize(("points", "k"), [(arc(300), 2), (arc(300), 3), (blobs(240), 3)])
def test_it_spans_the_exact_eigenvectors_the_constant_one_included(
    points: NDArray[Any], k: int
) -> None:
    values, vectors = exact_eigenvectors(points, k)
    net = SpectralNet(n_components=k, steps=700).fit(points)
    y = net.transform(points)
    # The graph's own gap, not luck, makes the subspace well defined.
    assert values[k] > 2 * values[k - 1] + 1e-3
    assert np.degrees(subspace_angles(y, vectors)).max() < 4
    assert np.degrees(subspace_angles(y, np.ones((len(points), 1)))).max() < 1
    assert np.abs(y[:, 0] - 1).mean() < 0.02
    np.testing.assert_allclose(net.eigenvalues_, values[:k], rtol=0.25, atol=2e-3)


def test_an_untrained_net_does_not_span_them() -> None:
    for points in (arc(400), blobs(300)):
        y = SpectralNet(n_components=3, steps=1, learning_rate=1e-9).fit(points).transform(points)
        assert np.degrees(subspace_angles(y, exact_eigenvectors(points, 3)[1])).max() > 10


def test_batches_approach_the_same_span() -> None:
    points = arc(900)
    net = SpectralNet(n_components=2, n_neighbors=15, batch_size=300, steps=400).fit(points)
    vectors = exact_eigenvectors(points, 2, n_neighbors=15)[1]
    assert np.degrees(subspace_angles(net.transform(points), vectors)).max() < 8


def test_new_points_of_seen_clusters_land_beside_them() -> None:
    train, new = blobs(300), blobs(60, seed=1)
    net = SpectralNet(n_components=3, steps=500).fit(train)
    seen, fresh = net.transform(train), net.transform(new)
    centers = np.stack([seen[i::3].mean(axis=0) for i in range(3)])
    nearest = np.linalg.norm(fresh[:, None] - centers, axis=-1).argmin(axis=1)
    np.testing.assert_array_equal(nearest, np.arange(60) % 3)


def test_outputs_are_orthonormal_on_the_training_points() -> None:
    points = arc(200)
    y = SpectralNet(n_components=4, steps=20).fit(points).transform(points)
    np.testing.assert_allclose(y.T @ y / 200, np.eye(4), atol=1e-9)


def test_affinity_is_the_formula() -> None:
    points = arc(50)
    values, _ = exact_eigenvectors(points, 1, n_neighbors=4)
    w = knn_affinity(points, n_neighbors=4).toarray()
    np.testing.assert_array_equal(w, w.T)
    np.testing.assert_allclose(np.linalg.eigvalsh(np.diag(w.sum(axis=1)) - w), values, atol=1e-12)


def test_affinity_of_repeated_points_is_finite() -> None:
    w = knn_affinity(np.repeat(arc(5), 4, axis=0), n_neighbors=3).toarray()
    assert np.isfinite(w).all()
    assert w.max() == 1


def test_loss_is_the_trace_form_for_dense_and_sparse() -> None:
    w = torch.from_numpy(knn_affinity(arc(40), n_neighbors=5).toarray())
    y = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    laplacian = torch.diag(w.sum(dim=1)) - w
    expected = 2 * torch.trace(y.T @ laplacian @ y) / 40**2
    torch.testing.assert_close(spectralnet_loss(y, w), expected)
    torch.testing.assert_close(spectralnet_loss(y, w.to_sparse()), expected)


def test_orthonormal_layer_keeps_the_span_and_has_the_right_gradient() -> None:
    y = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    q = orthonormalize(y)
    torch.testing.assert_close(q.T @ q / 12, torch.eye(3, dtype=torch.float64))
    assert np.degrees(subspace_angles(y.numpy(), q.numpy())).max() < 1e-5
    w = torch.from_numpy(knn_affinity(arc(12), n_neighbors=3).toarray())
    assert torch.autograd.gradcheck(
        lambda t: spectralnet_loss(orthonormalize(t), w), y.requires_grad_()
    )


def test_same_seed_same_embedding_and_the_callers_random_state_is_untouched() -> None:
    points = arc(100)
    net = SpectralNet(steps=10, random_state=3)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = net.fit_transform(points)
    torch.testing.assert_close(torch.rand(3), expected)
    np.testing.assert_array_equal(first, clone(net).fit_transform(points))
    assert not np.allclose(first, SpectralNet(steps=10, random_state=4).fit_transform(points))


@pytest.mark.parametrize(
    ("options", "points", "message"),
    [
        ({"n_neighbors": 10}, arc(8), "n_neighbors=10"),
        ({"batch_size": 5}, arc(50), "batch of 5 points is too small"),
        ({"n_components": 0}, arc(50), "n_components is 0"),
        ({"n_components": 4}, np.repeat(arc(3), 20, axis=0), "3 distinct points"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, int], points: NDArray[Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        SpectralNet(**options).fit(points)
    assert "\n" not in str(caught.value)


def test_outputs_of_too_few_directions_are_refused() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    net = SpectralNet(n_components=5, hidden=(), steps=3)
    with pytest.raises(InputError, match="fewer than n_components=5 directions"):
        net.fit(points)


def test_random_state_is_scikit_learns() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    nets = [SpectralNet(steps=2, random_state=state) for state in (None, None)]
    first, second = (net.fit_transform(points) for net in nets)
    assert not np.allclose(first, second)
    one, other = (SpectralNet(steps=2, random_state=np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(one.fit_transform(points), other.fit_transform(points))


def test_affinity_refuses_more_neighbours_than_points() -> None:
    with pytest.raises(InputError, match="choose 1 to 7"):
        knn_affinity(arc(8), n_neighbors=8)


@parametrize_with_checks([SpectralNet(n_components=1, n_neighbors=2, steps=3)])
def test_scikit_learns_own_checks(estimator: SpectralNet, check: Any) -> None:
    check(estimator)


def test_an_unseen_cluster_is_torn_while_the_seen_ones_are_points() -> None:
    """The claim of figure 1, in numbers."""
    shown = unseen_cluster()

    def extent(rows: NDArray[np.bool_]) -> float:
        return float(np.ptp(shown.test_embedding[rows], axis=0).max())

    for cluster in range(3):
        spread = shown.train_embedding[shown.train_clusters == cluster].std(axis=0)
        assert spread.max() < 0.05
    seen = [np.median(_distances(shown.test_embedding[shown.test_clusters == c])) for c in range(3)]
    new = np.median(_distances(shown.test_embedding[shown.test_clusters == 3]))
    assert new > 10 * max(seen)
    assert extent(shown.test_clusters == 3) > 0.5


def _distances(points: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.linalg.norm(points - points.mean(axis=0), axis=1))

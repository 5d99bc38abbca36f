"""Figure 1, computed: SpectralNet meets a cluster it was not trained on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.unseen_cluster import UnseenCluster

TRAINED_CENTERS = ((0.0, 0.0), (4.0, 0.0), (2.0, 3.5))
UNSEEN_CENTER = (5.0, 3.0)
_SPREAD = 0.4


def unseen_cluster(*, points_per_cluster: int = 150, seed: int = 0) -> UnseenCluster:
    """Train SpectralNet on three planar clusters and embed fresh points of these and a fourth.

    Three clusters have three leading eigenvectors (one is constant), so the network maps each
    trained cluster to one spot; nothing in its loss says where a fourth should go.
    """
    from sag_vicreg.methods.spectralnet import SpectralNet

    rng = np.random.default_rng(seed)
    train, train_clusters = _draw(rng, TRAINED_CENTERS, points_per_cluster)
    test, test_clusters = _draw(rng, (*TRAINED_CENTERS, UNSEEN_CENTER), points_per_cluster)
    net = SpectralNet(n_components=3, random_state=seed).fit(train)
    return UnseenCluster(
        train_points=train,
        train_clusters=train_clusters,
        test_points=test,
        test_clusters=test_clusters,
        train_embedding=net.transform(train)[:, 1:],
        test_embedding=net.transform(test)[:, 1:],
    )


def _draw(
    rng: np.random.Generator, centers: tuple[tuple[float, float], ...], size: int
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    clusters = np.repeat(np.arange(len(centers)), size)
    return np.array(centers)[clusters] + _SPREAD * rng.standard_normal((len(clusters), 2)), clusters

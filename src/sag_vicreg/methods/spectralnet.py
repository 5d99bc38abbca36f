"""SpectralNet: a network whose outputs are the leading eigenvectors of a graph Laplacian.

Shaham et al., "SpectralNet: Spectral Clustering using Deep Neural Networks", 2018
(https://arxiv.org/abs/1801.01587), in the form of the paper's section 3.1: the network minimises

    1/n² Σ_ij W_ij ‖y_i − y_j‖²    subject to    YᵀY / n = I                       (eqs. 1 and 2)

where W is the k-nearest-neighbour affinity of the batch. The minimiser spans the eigenvectors of
L = D − W with the smallest eigenvalues, the constant one included, and being a network it also
answers for points outside the graph: well within the clusters it has seen, and unpredictably
outside them, which is the paper's figure 1. Section 4.1 reads VICReg as the same problem on a
graph that joins the views of one image; :func:`spectralnet_loss` is what the tests show it with.
"""

import math
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted
from torch import Tensor, nn

from sag_vicreg.errors import InputError
from sag_vicreg.progress import progress_bar

_SMALLEST_SCALE = 1e-7


def knn_affinity(points: NDArray[Any], *, n_neighbors: int = 10) -> sparse.csr_matrix:
    """Affinity of each point to its nearest others, each at its own scale, symmetrised.

    ``exp(-(d_ij / scale_i)²)`` over the Euclidean nearest neighbours of ``i``, with ``scale_i`` the
    median distance to them; then ``(W + Wᵀ) / 2``. A point is not its own neighbour: the diagonal
    cancels in ``D − W``.

    Parameters
    ----------
    points
        Rows to join, ``(n, features)``.
    n_neighbors
        Neighbours of each row, less than ``n``.

    Returns
    -------
    scipy.sparse.csr_matrix
        ``(n, n)``, symmetric, entries in [0, 1].
    """
    n = len(points)
    if not 1 <= n_neighbors < n:
        raise InputError(
            f"n_neighbors is {n_neighbors} but there are {n} points: choose 1 to {n - 1}"
        )
    # Asked without arguments, scikit-learn leaves each point out of its own neighbours.
    distances, indices = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors()
    scale = np.maximum(np.median(distances, axis=1, keepdims=True), _SMALLEST_SCALE)
    rows = np.repeat(np.arange(n), n_neighbors)
    weights = np.exp(-((distances / scale) ** 2)).ravel()
    directed = sparse.csr_matrix((weights, (rows, indices.ravel())), shape=(n, n))
    return (directed + directed.T) / 2


def spectralnet_loss(y: Tensor, affinity: Tensor) -> Tensor:
    """Sum over the graph's edges, ``1/n² Σ_ij W_ij ‖y_i − y_j‖²`` (eq. 1).

    Parameters
    ----------
    y
        Embeddings ``(n, k)``.
    affinity
        ``W``, ``(n, n)``, dense or sparse; only its nonzero entries cost anything.
    """
    edges = affinity.to_sparse().coalesce()
    i, j = edges.indices()
    return (edges.values() * (y[i] - y[j]).square().sum(dim=1)).sum() / len(y) ** 2


def orthonormalize(y: Tensor) -> Tensor:
    """Output layer that enforces ``YᵀY / n = I`` (eq. 2) and keeps the span of ``y``'s columns.

    By QR, through which the gradient flows, so a step moves the span itself.
    """
    q: Tensor = torch.linalg.qr(y).Q
    return q * math.sqrt(len(y))


# scikit-learn ships no types, so its base classes are opaque to mypy.
class SpectralNet(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Spectral embedding by a neural network, in scikit-learn's manner.

    Parameters
    ----------
    n_components
        Eigenvectors to learn, the constant one included: it is the first column of the output.
    n_neighbors
        Neighbours in the batch's affinity graph.
    hidden
        Widths of the hidden layers.
    batch_size
        Points whose graph is drawn at a time. Up to this many points, training sees one exact
        graph; beyond, each step draws a random batch and its graph.
    steps
        Steps of the optimiser, each on one batch.
    learning_rate
        Adam's, falling to zero along a cosine.
    random_state
        Seed of the weights and of the batches.

    Attributes
    ----------
    eigenvalues_
        Rayleigh quotients ``y_jᵀ L y_j / y_jᵀ y_j`` of the learned columns on the training graph.
    losses_
        Loss of each step.
    n_features_in_
        Columns of the training points.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> x, _ = make_moons(400, noise=0.05, random_state=0)
    >>> y = SpectralNet(n_components=2).fit(x[:300]).transform(x[300:])
    >>> y.shape
    (100, 2)

    Notes
    -----
    The loss fixes the span only. After training the columns are turned within it: the constant
    direction first, then Ritz vectors of the training graph's Laplacian by rising eigenvalue.
    ``YᵀY / n = I`` then holds exactly on the training points, and the same linear map is applied
    to new ones.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        hidden: tuple[int, ...] = (128, 128),
        batch_size: int = 1024,
        steps: int = 1000,
        learning_rate: float = 1e-2,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.hidden = hidden
        self.batch_size = batch_size
        self.steps = steps
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the embedding of ``X``, ``(n, features)``; ``y`` is ignored."""
        points = check_array(X, dtype=np.float64, ensure_min_samples=2)
        self._check_sizes(points)
        self.n_features_in_ = points.shape[1]
        self._center = points.mean(axis=0)
        # One scale for all features: the network sees the geometry the neighbours were found in.
        self._spread = float((points - self._center).std()) or 1.0
        seed = self._seed()
        # The caller's random state is left as it was.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._network = self._make_network(points.shape[1])
        self.losses_ = self._train(points, seed)
        self._linear_map, self.eigenvalues_ = self._align(points)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Embed ``X``, seen or new, as ``(n, n_components)``."""
        check_is_fitted(self)
        points = check_array(X, dtype=np.float64)
        if points.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {points.shape[1]} features, but SpectralNet is expecting "
                f"{self.n_features_in_} features as input"
            )
        embedded: NDArray[np.float64] = self._outputs(points) @ self._linear_map
        return embedded

    def _check_sizes(self, points: NDArray[np.float64]) -> None:
        distinct = len(np.unique(points, axis=0))
        if not 1 <= self.n_components <= distinct:
            raise InputError(
                f"n_components is {self.n_components} but there are {distinct} distinct points: "
                f"choose 1 to {distinct}"
            )
        if min(self.batch_size, len(points)) <= max(self.n_neighbors, self.n_components):
            raise InputError(
                f"a batch of {min(self.batch_size, len(points))} points is too small for "
                f"n_neighbors={self.n_neighbors} and n_components={self.n_components}: "
                "raise batch_size, give more points, or lower them"
            )

    def _make_network(self, n_features: int) -> nn.Sequential:
        widths = (n_features, *self.hidden)
        layers = [layer for ends in pairwise(widths) for layer in (nn.Linear(*ends), nn.SiLU())]
        return nn.Sequential(*layers, nn.Linear(widths[-1], self.n_components)).double()

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _train(self, points: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        inputs = self._as_inputs(points)
        n = len(points)
        deal = torch.Generator().manual_seed(seed)
        # The loss carries 1/n², so its gradients are small; Adam's usual eps could drown them.
        optimizer = torch.optim.Adam(self._network.parameters(), lr=self.learning_rate, eps=1e-15)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        rows = torch.arange(n)
        losses = np.zeros(self.steps)
        with progress_bar("SpectralNet", total=self.steps) as advance:
            for step in range(self.steps):
                if n > self.batch_size:
                    rows = torch.randperm(n, generator=deal)[: self.batch_size]
                if n > self.batch_size or step == 0:
                    affinity = _to_torch(self._affinity(points[rows.numpy()]))
                loss = spectralnet_loss(orthonormalize(self._network(inputs[rows])), affinity)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                losses[step] = loss.item()
                advance(1)
        return losses

    def _align(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Linear map from the network's outputs to ordered eigenvectors, and their eigenvalues."""
        outputs = self._outputs(points)
        n = len(points)
        r = np.linalg.qr(outputs, mode="r")
        sizes = np.abs(np.diag(r))
        if sizes.min() <= sizes.max() * n * np.finfo(np.float64).eps:
            raise InputError(
                f"the network's outputs span fewer than n_components={self.n_components} "
                "directions: widen hidden, or lower n_components"
            )
        whiten = np.linalg.inv(r) * math.sqrt(n)
        y = outputs @ whiten
        # An orthonormal basis of the span whose first axis is the constant's projection on it.
        mean = y.mean(axis=0)
        basis, _ = np.linalg.qr(np.column_stack([mean, np.eye(self.n_components)]))
        basis[:, 0] *= np.sign(basis[:, 0] @ mean)
        laplacian = sparse.csgraph.laplacian(self._affinity(points))
        varying = basis[:, 1:]
        _, ritz = np.linalg.eigh((y @ varying).T @ (laplacian @ (y @ varying)))
        turn = np.column_stack([basis[:, :1], varying @ ritz])
        eigenvectors = y @ turn
        quotients = np.einsum("ij,ij->j", eigenvectors, laplacian @ eigenvectors) / n
        return whiten @ turn, quotients

    def _affinity(self, points: NDArray[np.float64]) -> sparse.csr_matrix:
        return knn_affinity(points, n_neighbors=self.n_neighbors)

    def _as_inputs(self, points: NDArray[np.float64]) -> Tensor:
        return torch.from_numpy((points - self._center) / self._spread)

    @torch.no_grad()
    def _outputs(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        outputs: NDArray[np.float64] = self._network(self._as_inputs(points)).numpy()
        return outputs


def _to_torch(affinity: sparse.csr_matrix) -> Tensor:
    edges = affinity.tocoo()
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([edges.row, edges.col])),
        torch.from_numpy(edges.data),
        edges.shape,
        check_invariants=True,
    ).coalesce()

"""Spectral clustering into many numbers of clusters from one graph and one set of eigenvectors.

The clustering is scikit-learn's ``SpectralClustering(affinity="nearest_neighbors")`` by cosine: the
k-NN graph, each point its own first neighbour, symmetrised by the mean; the normalised Laplacian's
lowest eigenvectors, divided by the root of the degree; k-means on as many of them as there are
clusters. Eigenvectors do not depend on the number of clusters, so the largest number's serve all.
"""

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

from sag_vicreg.arrays import Array, Ints
from sag_vicreg.evaluation.checks import unit_rows
from sag_vicreg.evaluation.neighbors import nearest
from sag_vicreg.progress import track
from sag_vicreg.structure.parallel import blocks

# Below this, and where many of the eigenvectors are wanted, the dense solver is the faster one.
_DENSE = 1000
# Restarts of k-means; the eigenvectors separate the clusters, so more change nothing that shows.
_RESTARTS = 3
_BLOCK = 2048


def spectral_clusterings(
    vectors: Array, counts: Iterable[int], *, n_neighbors: int, seed: int
) -> tuple[dict[int, Ints], int]:
    """Cluster ``vectors`` (n, d) into each of ``counts`` clusters.

    Returns the cluster of each point by the number of clusters, and the number of connected
    components of the k-NN graph.

    A k-NN graph in several pieces has no order among its eigenvectors of eigenvalue 1, and more
    pieces than clusters leave the result to chance. Pieces are therefore tied together first, each
    to the point nearest to it outside.
    """
    wanted = sorted(set(counts))
    from sklearn.cluster import KMeans  # first of all: a library is limited only once it is loaded
    from sklearn.exceptions import ConvergenceWarning

    # How a sum is split over threads decides its last bits, those decide where k-means starts, and
    # that the clusters.
    with threadpool_limits(1):
        graph, components = connect(knn_graph(vectors, n_neighbors), vectors)
    labels: dict[int, Ints] = {}
    # Again, for what the search of neighbours has loaded.
    with threadpool_limits(1), warnings.catch_warnings():
        # Fewer distinct points than clusters leave some clusters empty; the scores show it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        embedding = _eigenvectors(graph, wanted[-1], seed)
        for count in track(wanted, "spectral clustering"):
            means = KMeans(count, n_init=_RESTARTS, random_state=seed)
            labels[count] = means.fit_predict(embedding[:, :count]).astype(np.int64)
    return labels, components


def knn_graph(vectors: Array, n_neighbors: int) -> sparse.csr_array:
    """Join each point to its nearest by cosine, (n, n), both ways by the mean."""
    n = len(vectors)
    found = nearest(vectors, vectors, n_neighbors)
    starts = np.arange(0, n * n_neighbors + 1, n_neighbors)
    directed = sparse.csr_array(
        (np.ones(n * n_neighbors), found.indices.ravel(), starts), shape=(n, n)
    )
    both = (directed + directed.T) / 2
    graph = sparse.csr_array(both - sparse.diags_array(both.diagonal()))
    graph.eliminate_zeros()
    return graph


def connect(graph: sparse.csr_array, vectors: Array) -> tuple[sparse.csr_array, int]:
    """Tie the pieces of the graph together, each by one edge to its nearest point outside.

    As in Borůvka's spanning tree, every round at least halves the number of pieces.
    """
    unit = unit_rows(vectors)
    components, piece = connected_components(graph, directed=False)
    pieces = components
    while pieces > 1:
        # The largest piece waits for the others to come to it.
        rest = np.flatnonzero(piece != np.bincount(piece).argmax())
        nearest_outside, similarity = _nearest_outside(unit, piece, rest)
        # Per piece, the point most similar to something outside: last in this order.
        order = np.lexsort((-rest, similarity, piece[rest]))
        last = np.append(np.flatnonzero(np.diff(piece[rest][order])), len(rest) - 1)
        ends = rest[order[last]], nearest_outside[order[last]]
        bridge = sparse.csr_array((np.full(len(last), 0.5), ends), shape=graph.shape)
        graph = graph + bridge.maximum(bridge.T)
        pieces, piece = connected_components(graph, directed=False)
    return graph, int(components)


def _nearest_outside(
    unit: NDArray[np.float32], piece: NDArray[np.int32], rows: Ints
) -> tuple[Ints, NDArray[np.float32]]:
    """Return for each of ``rows`` the most similar point of another piece, and the cosine."""
    where = np.empty(len(rows), dtype=np.int64)
    similarity = np.empty(len(rows), dtype=np.float32)
    for part in blocks(len(rows), _BLOCK):
        block = rows[part]
        product = unit[block] @ unit.T
        product[piece[block][:, None] == piece[None, :]] = -np.inf
        best = product.argmax(axis=1)
        where[part] = best
        similarity[part] = product[np.arange(len(block)), best]
    return where, similarity


def _eigenvectors(graph: sparse.csr_array, count: int, seed: int) -> NDArray[np.float64]:
    """Return the ``count`` smoothest functions on the graph, smoothest first, (n, count).

    The lowest eigenvectors of the normalised Laplacian ``I - D^-1/2 A D^-1/2`` are the top ones of
    its second term. Lanczos finds those without factorising anything: k-NN graphs of
    high-dimensional points fill a factorisation nearly completely.
    """
    n = graph.shape[0]
    root = 1 / np.sqrt(graph.sum(axis=0))
    scaled = sparse.diags_array(root) @ graph @ sparse.diags_array(root)
    if n <= _DENSE or 4 * count > n:
        values, vectors = eigh(scaled.toarray(), subset_by_index=(n - count, n - 1))
    else:
        start = np.random.default_rng(seed).standard_normal(n)
        values, vectors = eigsh(scaled, k=count, which="LA", v0=start, tol=1e-6)
    return np.asarray(vectors[:, np.argsort(-values)] * root[:, None])

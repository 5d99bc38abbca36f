"""A map of embeddings in the plane: UMAP over exact cosine neighbours."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.arrays import Array
from sag_vicreg.evaluation.neighbors import nearest

NEIGHBORS = 15
# Below this many rows UMAP's graph says nothing a principal axis does not.
FEWEST_FOR_UMAP = 12
# Of a cosine in single precision.
ROUNDING = 1e-6


def project(vectors: Array, *, seed: int) -> NDArray[np.float32]:
    """Map vectors to the plane by UMAP on cosine distances; by PCA where UMAP has nothing to do.

    UMAP gets our neighbours: they are exact, where its own are approximate from 4,096 rows on, and
    its search is compiled anew in every process, which takes longer than most maps.
    """
    if len(vectors) < FEWEST_FOR_UMAP or vectors.shape[1] <= 2 or not np.ptp(vectors, axis=0).any():
        return _principal_plane(vectors)
    from umap import UMAP

    neighbors = neighbors_and_distances(vectors)
    reducer = UMAP(
        n_neighbors=neighbors[0].shape[1],
        metric="cosine",
        precomputed_knn=neighbors,
        init="pca",
        random_state=seed,
        n_jobs=1,  # what a fixed seed means for UMAP; said here, it does not warn
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(reducer.fit_transform(vectors), dtype=np.float32)


def neighbors_and_distances(vectors: Array) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return each row's nearest rows by cosine, itself included, as UMAP takes them."""
    found = nearest(vectors, vectors, min(NEIGHBORS, len(vectors) - 1))
    distances = 1 - found.similarity
    # A row's distance to itself must be 0, not rounding: UMAP scales by the smallest one above 0.
    distances[distances < ROUNDING] = 0
    return found.indices, distances


def _principal_plane(vectors: Array) -> NDArray[np.float32]:
    centred = np.asarray(vectors, dtype=np.float64) - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    plane: NDArray[Any] = (left * singular)[:, :2]
    # One dimension has one axis: the other is flat.
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1]))).astype(np.float32)

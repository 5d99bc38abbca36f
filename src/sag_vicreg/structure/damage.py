"""Planted damage: known changes of a set of embeddings, to see what a measure makes of them.

What moves rows or clusters is nested: with one seed, what a smaller share moves a larger one moves
too. Scores of growing damage may then be expected to fall.
"""

import math
from typing import Any

import numpy as np

from sag_vicreg.arrays import Array, Floats, Ints
from sag_vicreg.errors import InputError
from sag_vicreg.structure.points import as_vectors


def rotate(x: Any, *, seed: int = 0) -> Floats:
    """Turn all rows by one random rotation or reflection: no distance and no angle changes.

    Examples
    --------
    >>> np.linalg.norm(rotate(np.eye(3, 2) * 5), axis=1).round(9)
    array([5., 5., 0.])
    """
    x = as_vectors(x)
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(x.shape[1], x.shape[1])))
    # Signs of the diagonal make the draw uniform over all rotations.
    turned: Floats = x @ (q * np.where(np.diag(r) < 0, -1.0, 1.0))
    return turned


def add_noise(x: Any, share: float, *, seed: int = 0) -> Floats:
    """Add Gaussian noise of ``share`` times the set's own standard deviation to every coordinate.

    That deviation is the root mean square of the columns' deviations, one number for all columns.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(1000, 4))
    >>> round(float((add_noise(x, 0.5) - x).std() / x.std()), 2)
    0.5
    """
    vectors = as_vectors(x)
    if not share >= 0:
        raise InputError(f"noise of {share}: give a share of the standard deviation, 0 or more")
    deviation = float(np.sqrt(vectors.var(axis=0).mean()))
    return vectors + share * deviation * np.random.default_rng(seed).normal(size=vectors.shape)


def quantise(x: Any, bits: int) -> Floats:
    """Keep so many bits of each number: evenly spaced values between its column's extremes.

    One bit says whether a number lies above its column's mean; it becomes the mean plus or minus
    the column's standard deviation.

    Examples
    --------
    >>> quantise([[0.0], [0.4], [0.6], [1.0], [3.0]], 2).ravel()
    array([0., 0., 1., 1., 3.])
    """
    vectors = as_vectors(x)
    if not 1 <= bits <= 16:
        raise InputError(f"{bits} bits: give 1 to 16")
    if bits == 1:
        mean, deviation = vectors.mean(axis=0), vectors.std(axis=0)
        sides: Floats = np.where(vectors > mean, mean + deviation, mean - deviation)
        return sides
    low: Floats = vectors.min(axis=0)
    step: Floats = np.ptp(vectors, axis=0) / (2**bits - 1)
    step[step == 0] = 1.0
    return low + np.rint((vectors - low) / step) * step


def truncate(x: Any, dims: int) -> Floats:
    """Keep the first ``dims`` principal components about the mean; the shape stays (n, d).

    Examples
    --------
    >>> truncate([[0.0, 1.0], [10.0, 4.0], [20.0, 1.0]], 1)[:, 1].round(9)
    array([2., 2., 2.])
    """
    vectors = as_vectors(x)
    d = vectors.shape[1]
    if not 1 <= dims <= d:
        raise InputError(f"{dims} components of {d} dimensions: give 1 to {d}")
    mean: Floats = vectors.mean(axis=0)
    directions: Floats = np.linalg.svd(vectors - mean, full_matrices=False)[2][:dims]
    return mean + (vectors - mean) @ directions.T @ directions


def project(x: Any, dims: int, *, seed: int = 0) -> Floats:
    """Project onto ``dims`` random Gaussian directions, shape (n, dims).

    The first directions are those of a projection to fewer.

    Examples
    --------
    >>> project(np.eye(5), 2).shape
    (5, 2)
    """
    vectors = as_vectors(x)
    if dims < 1:
        raise InputError(f"a projection to {dims} dimensions: give 1 or more")
    directions = np.random.default_rng(seed).normal(size=(dims, vectors.shape[1]))
    return vectors @ directions.T / math.sqrt(dims)


def shuffle_rows(x: Array, share: float, *, seed: int = 0) -> Array:
    """Permute a random ``share`` of the rows among themselves; each of them moves.

    The rows of any array may be shuffled; the places depend on their number alone.

    Examples
    --------
    >>> int((shuffle_rows(np.arange(100), 0.25) != np.arange(100)).sum())
    25
    """
    x = np.asarray(x)
    order = np.random.default_rng(seed).permutation(len(x))
    return _passed_on(x, order[: _count(share, len(x), at_least=2)])


def shuffle_inside(x: Array, labels: Array, *, seed: int = 0) -> Array:
    """Permute the rows inside each cluster; no row leaves its cluster.

    Examples
    --------
    >>> shuffle_inside(np.array([1, 2, 30, 40]), np.array([0, 0, 1, 1]))
    array([ 2,  1, 40, 30])
    """
    x = np.asarray(x)
    order = np.random.default_rng(seed).permutation(len(x))
    cluster = _clusters(labels, len(x))[1][order]
    for each in range(cluster.max() + 1):
        x = _passed_on(x, order[cluster == each])
    return x


def scattered(labels: Array, share: float, *, seed: int = 0) -> Array:
    """Say which cluster each row goes to when a ``share`` of the clusters is scattered.

    Each member of a scattered cluster, and of at least one where the share is not 0, goes to a
    random other cluster of the set.

    Examples
    --------
    >>> scattered(np.array(["a", "a", "b", "b"]), 0.5, seed=1)
    array(['b', 'b', 'b', 'b'], dtype='<U1')
    """
    names, cluster = _clusters(labels, len(labels), at_least=2)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(names))[: _count(share, len(names))]
    # Drawn for every row, so that a larger share sends a row to the same place.
    elsewhere = (cluster + rng.integers(1, len(names), size=len(cluster))) % len(names)
    return names[np.where(np.isin(cluster, chosen), elsewhere, cluster)]


def scatter_clusters(x: Any, labels: Array, share: float, *, seed: int = 0) -> Floats:
    """Scatter a ``share`` of the clusters: see :func:`scattered`.

    A row that moves keeps its offset from the centre of its cluster.

    Examples
    --------
    >>> scatter_clusters([[0.0], [2.0], [10.0], [12.0]], np.array(list("aabb")), 0.5, seed=1)
    array([[10.],
           [12.],
           [10.],
           [12.]])
    """
    return _moved(x, labels, scattered(labels, share, seed=seed))


def merged(labels: Array, share: float, *, seed: int = 0) -> Array:
    """Say which cluster each row goes to when a ``share`` of the clusters is merged into others.

    Each of them, and at least one where the share is not 0, joins a random one of those that stay.
    One always stays. What a smaller share merges stays together under a larger one.

    Examples
    --------
    >>> merged(np.array(["a", "a", "b", "b"]), 0.5)
    array(['b', 'b', 'b', 'b'], dtype='<U1')
    """
    names, cluster = _clusters(labels, len(labels), at_least=2)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(names))
    going = min(_count(share, len(names)), len(names) - 1)
    # Each joins a later one, which may itself go: its company goes with it.
    joined = [int(rng.integers(place + 1, len(names))) for place in range(len(names) - 1)]
    target = np.arange(len(names))
    for place in range(going - 1, -1, -1):
        target[order[place]] = target[order[joined[place]]]
    return names[target[cluster]]


def merge_clusters(x: Any, labels: Array, share: float, *, seed: int = 0) -> Floats:
    """Merge a ``share`` of the clusters into others: see :func:`merged`.

    A row that moves keeps its offset from the centre of its cluster.

    Examples
    --------
    >>> merge_clusters([[0.0], [2.0], [10.0], [12.0]], np.array(list("aabb")), 0.5).ravel()
    array([10., 12., 10., 12.])
    """
    return _moved(x, labels, merged(labels, share, seed=seed))


def tighten_clusters(x: Any, labels: Array, by: float, *, seed: int = 0) -> Floats:
    """Shrink each cluster about its centre by a random factor between 1 / ``by`` and 1.

    Distances change; which rows are together does not.

    Examples
    --------
    >>> tighten_clusters([[0.0], [2.0], [10.0], [12.0]], np.array([0, 0, 1, 1]), 1.0).ravel()
    array([ 0.,  2., 10., 12.])
    """
    vectors = as_vectors(x)
    if not by >= 1:
        raise InputError(f"clusters tightened by {by}: give 1 or more")
    names, cluster = _clusters(labels, len(vectors))
    factors = by ** -np.random.default_rng(seed).uniform(size=len(names))
    centre = _centres(vectors, cluster)[cluster]
    return centre + (vectors - centre) * factors[cluster, None]


def _count(share: float, of: int, *, at_least: int = 1) -> int:
    """Return how many a share of ``of`` is: none for 0, else no fewer than ``at_least``."""
    if not 0 <= share <= 1:
        raise InputError(f"a share of {share}: give one from 0 to 1")
    return max(at_least, round(share * of)) if share else 0


def _passed_on(x: Array, rows: Ints) -> Array:
    """Give each of the rows the values of the next one, and the last those of the first."""
    changed = x.copy()
    changed[rows] = x[np.roll(rows, -1)]
    return changed


def _clusters(labels: Array, n: int, *, at_least: int = 1) -> tuple[Array, Ints]:
    """Return the clusters' names and each row's cluster as a number."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise InputError(f"labels of shape {labels.shape} for {n} rows: give one label per row")
    names, cluster = np.unique(labels, return_inverse=True)
    if len(names) < at_least:
        raise InputError("all rows have the same label: this damage needs two clusters or more")
    return names, cluster


def _centres(x: Floats, cluster: Ints) -> Floats:
    sums = np.zeros((cluster.max() + 1, x.shape[1]))
    np.add.at(sums, cluster, x)
    return sums / np.bincount(cluster)[:, None]


def _moved(x: Any, labels: Array, goes_to: Array) -> Floats:
    """Move each row from the centre of its cluster to that of another, its offset kept."""
    vectors = as_vectors(x)
    names, cluster = _clusters(labels, len(vectors))
    centres = _centres(vectors, cluster)
    return vectors + centres[np.searchsorted(names, goes_to)] - centres[cluster]

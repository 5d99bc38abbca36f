"""What every measure asks of its input, refused in one line where it is not so."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.arrays import Array
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import Hierarchy


def check_vectors(vectors: ArrayLike, name: str) -> Array:
    """Return ``vectors`` as a finite (n, d) floating-point matrix with at least two rows."""
    matrix = np.asarray(vectors)
    if matrix.ndim != 2:
        raise InputError(f"{name} has shape {matrix.shape}: give one row per point, (n, d)")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {matrix.dtype}, not real numbers: convert it to float")
    if matrix.shape[0] < 2 or matrix.shape[1] < 1:
        raise InputError(f"{name} has shape {matrix.shape}: at least two points are needed")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float32 if matrix.dtype.itemsize <= 2 else np.float64)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InputError(
            f"{name} has NaN or infinity in {bad.size} rows, the first is row {bad[0]}: "
            "remove or repair them"
        )
    return matrix


def unit_rows(matrix: Array) -> NDArray[np.float32]:
    """Return rows scaled to length one, in float32; a zero row stays zero (cosine 0 to all).

    Rows are divided by their largest entry first, so that neither the squares of huge entries nor
    those of tiny ones leave the range of floating point.
    """
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    scaled = matrix / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(norms > 0, norms, 1)).astype(np.float32)


def labelled_sets(
    train: ArrayLike,
    train_labels: ArrayLike,
    test: ArrayLike,
    test_labels: ArrayLike,
    hierarchy: Hierarchy,
) -> tuple[Array, NDArray[np.int64], Array, NDArray[np.int64]]:
    """Check two sets that one model embedded: the vectors of each, and its labels by level."""
    known, asked = check_vectors(train, "train"), check_vectors(test, "test")
    if known.shape[1] != asked.shape[1]:
        raise InputError(
            f"train has dimension {known.shape[1]} and test {asked.shape[1]}: "
            "embed both with the same model"
        )
    labels = labels_by_level(train_labels, hierarchy, len(known), "train")
    return known, labels, asked, labels_by_level(test_labels, hierarchy, len(asked), "test")


def labels_by_level(
    labels: ArrayLike | None, hierarchy: Hierarchy, n: int, name: str
) -> NDArray[np.int64]:
    """Return the group of each point at each level, (n_levels, n).

    Parameters
    ----------
    labels
        One per point: class names or class indices of ``hierarchy``.
    hierarchy
        The class tree.
    n
        How many points the labels belong to.
    name
        What to call the points in an error.
    """
    if labels is None:
        raise InputError(f"{name} has no labels: this measure compares with a class hierarchy")
    given: NDArray[Any] = np.asarray(labels)
    if given.shape != (n,):
        raise InputError(f"{name} has {n} points but labels of shape {given.shape}: give one each")
    levels = np.stack([hierarchy.encode(given, level) for level in hierarchy.levels])
    if (levels[-1] == levels[-1, 0]).all():
        only = hierarchy.names_at(hierarchy.n_levels)[levels[-1, 0]]
        raise InputError(f"every point of {name} is of class '{only}': at least two are needed")
    return levels

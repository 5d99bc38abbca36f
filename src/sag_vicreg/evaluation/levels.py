"""Labels at every level of a class hierarchy, coarsest first."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.checks import Array, check_vectors
from sag_vicreg.hierarchy import Hierarchy


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

"""Labels at every level of a class hierarchy, coarsest first."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import Hierarchy


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
    levels = np.stack([hierarchy.encode(given, level) for level in level_numbers(hierarchy)])
    if (levels[-1] == levels[-1, 0]).all():
        only = hierarchy.names_at(hierarchy.n_levels)[levels[-1, 0]]
        raise InputError(f"every point of {name} is of class '{only}': at least two are needed")
    return levels


def level_numbers(hierarchy: Hierarchy) -> range:
    """Return the numbers of the levels: 1 is the coarsest, as in the paper."""
    return range(1, hierarchy.n_levels + 1)

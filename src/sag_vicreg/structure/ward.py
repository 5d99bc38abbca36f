"""Ward's agglomerative tree in three geometries."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.progress import progress_bar
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.memory import check_fits
from sag_vicreg.structure.merges import Merges
from sag_vicreg.structure.parallel import LONG, OneThread, Workers
from sag_vicreg.structure.points import as_points, as_vectors, check_geometry
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward_matrix import (
    SMALL,
    cosine_triangle,
    part_of_triangle,
    ward_of_triangle,
)
from sag_vicreg.structure.ward_vectors import ward_of_vectors


def ward_tree(a: Any, *, geometry: str = "cosine", name: str = "embeddings") -> Tree:
    """Build the dendrogram of the rows of ``a`` by Ward's method (paper, section 4.4).

    Parameters
    ----------
    a
        Shape (n, d): an array, a list of lists or a torch tensor, any float dtype.
    geometry
        ``"cosine"``: Ward's update on cosine distances, as SciPy's
        ``linkage(pdist(a, "cosine"), "ward")``; takes 4 n² bytes.
        ``"spherical"``: exact Ward on unit vectors, where distances are chords; O(n d) memory.
        ``"euclidean"``: exact Ward on the vectors as they are; O(n d) memory.
        The three are different trees.
    name
        What to call ``a`` in error messages.

    Examples
    --------
    >>> tree = ward_tree([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> tree.linkage[0, :2]
    array([0., 1.])
    """
    check_geometry(geometry)
    vectors = as_vectors(a, name)
    check_fits(vectors, geometry)
    return tree_of_points(as_points(vectors, geometry, name), geometry)


def tree_of_points(points: Floats, geometry: str) -> Tree:
    """Build the tree of points already checked and normalised."""
    shown = progress_bar("merges", len(points) - 1) if len(points) > LONG else nullcontext()
    with Workers(len(points)) as workers, shown as advance:
        return grow_tree(points, geometry, workers, Merges(advance=advance) if advance else None)


def grow_tree(
    points: Floats,
    geometry: str,
    workers: Workers,
    merges: Merges | None = None,
    *,
    weights: Ints | None = None,
) -> Tree:
    """Build the tree on ``workers`` that are already there.

    Where the geometry is not cosine, a point may stand for ``weights`` equal ones.
    """
    merges = merges or Merges()
    if geometry == "cosine":
        ward_of_triangle(cosine_triangle(points, workers), workers, merges)
    else:
        ward_of_vectors(points, workers, merges, weights=weights)
    return Tree(merges.linkage(), geometry, points, merges.ties)


def trees_of_parts(whole: Floats, parts: Ints) -> Iterator[Tree]:
    """Build the cosine tree of some points at a time, on one thread.

    ``whole`` is the triangle of all points, each row of ``parts`` names some in ascending order.
    """
    if parts.shape[1] <= SMALL:
        linkages = np.empty((len(parts), parts.shape[1] - 1, 4))
        ties = np.empty(len(parts), np.int64)
        kernel("parts").grow(whole, parts, linkages, ties)
        for linkage, tied in zip(linkages, ties.tolist(), strict=True):
            yield Tree(linkage, "cosine", ties=tied)
    else:
        for part in parts:
            merges = Merges()
            ward_of_triangle(part_of_triangle(whole, part), OneThread(), merges)
            yield Tree(merges.linkage(), "cosine", ties=merges.ties)

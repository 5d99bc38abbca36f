"""Ward's agglomerative tree in three geometries."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.progress import progress_bar
from sag_vicreg.structure.memory import check_fits
from sag_vicreg.structure.merges import Merges
from sag_vicreg.structure.parallel import LONG, Workers
from sag_vicreg.structure.points import as_points, as_vectors, check_geometry
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward_matrix import cosine_triangle, ward_of_triangle
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


def tree_of_points(points: npt.NDArray[np.float64], geometry: str) -> Tree:
    """Build the tree of points already checked and normalised."""
    shown = progress_bar("merges", len(points) - 1) if len(points) > LONG else nullcontext()
    with Workers() as workers:
        triangle = cosine_triangle(points, workers) if geometry == "cosine" else None
        with shown as advance:
            merges = Merges(advance=advance) if advance else Merges()
            if triangle is not None:
                ward_of_triangle(triangle, workers, merges)
            else:
                ward_of_vectors(points, workers, merges)
    return Tree(merges.linkage(), geometry, points, merges.ties)

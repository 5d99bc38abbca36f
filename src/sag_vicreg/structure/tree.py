"""The dendrogram: a linkage matrix and what follows from it."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sag_vicreg.arrays import Floats, Ints, inverse
from sag_vicreg.errors import InputError
from sag_vicreg.structure.kernels import kernel


@dataclass(frozen=True, eq=False)
class Tree:
    """A dendrogram over ``n`` points.

    Parameters
    ----------
    linkage
        SciPy's format, shape (n - 1, 4): row ``k`` joins the clusters in its first two columns at
        the height in the third into cluster ``n + k``, whose size is the fourth. Any tree in this
        format can be compared with :func:`~sag_vicreg.structure.lca_similarity`.
    geometry
        The geometry of the distances it was built from; None if it was built elsewhere.
    points
        The points as that geometry sees them (unit vectors, or as they came), shape (n, d).
    ties
        How many merges had another choice as good, within rounding, when they were made. Where it
        is 0 the tree is the only one; else another order of the rows may give another tree.
    """

    linkage: Floats
    geometry: str | None = None
    points: Floats | None = field(default=None, repr=False)
    ties: int = 0

    def __post_init__(self) -> None:
        linkage = self.linkage
        if linkage.ndim != 2 or linkage.shape[1] != 4 or len(linkage) < 2:
            raise InputError(
                f"a linkage matrix of shape {linkage.shape}: expected (n - 1, 4) for n of 3 or more"
            )
        if not kernel("trees").is_linkage(np.ascontiguousarray(linkage, np.float64)):
            raise InputError(
                "not a linkage matrix: every cluster joins once, after it was made, "
                "at heights that never fall"
            )

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.linkage) + 1

    @property
    def known_points(self) -> Floats:
        """The points; a tree that was built without is refused."""
        if self.points is None:
            raise InputError("the tree holds no points: build it with ward_tree to have distances")
        return self.points

    @property
    def heights(self) -> Floats:
        """Height of each merge, ascending."""
        return self.linkage[:, 2]

    @cached_property
    def children(self) -> Ints:
        """The two nodes each merge joins, shape (n - 1, 2); leaves are 0..n-1, merge k is n + k."""
        return np.ascontiguousarray(self.linkage[:, :2].astype(np.int64))

    @cached_property
    def _nodes(self) -> tuple[Ints, ...]:
        nodes = tuple(np.empty(2 * self.n - 1, np.int64) for _ in range(5))
        kernel("trees").unfold(self.children, *nodes)
        return nodes

    @property
    def parents(self) -> Ints:
        """The merge above each node, -1 above the root."""
        return self._nodes[0]

    @property
    def sizes(self) -> Ints:
        """Leaves under each node."""
        return self._nodes[1]

    @property
    def levels(self) -> Ints:
        """The longest chain of edges from each node down to a leaf."""
        return self._nodes[2]

    @property
    def depths(self) -> Ints:
        """Edges from each node up to the root."""
        return self._nodes[3]

    @property
    def starts(self) -> Ints:
        """Where each node's leaves begin in :attr:`leaf_order`; they are contiguous there."""
        return self._nodes[4]

    @cached_property
    def leaf_order(self) -> Ints:
        """Leaves from left to right, as SciPy's ``leaves_list``."""
        return inverse(self.starts[: self.n])

    @cached_property
    def boundaries(self) -> Ints:
        """The merge that splits each two neighbours in leaf order, shape (n - 1,).

        The lowest common ancestor of two leaves is the last merge on the boundaries between them.
        """
        return inverse(self.starts[self.children[:, 1]] - 1)

    def under(self, counts: Ints) -> Ints:
        """Sum what is counted of each leaf, the first axis, over the leaves under each node."""
        upto = np.zeros((self.n + 1, *counts.shape[1:]), np.int64)
        np.cumsum(counts[self.leaf_order], axis=0, out=upto[1:])
        sums: Ints = upto[self.starts + self.sizes] - upto[self.starts]
        return sums

"""Coordinates of dendrograms, for whoever draws them."""

from dataclasses import dataclass

import numpy as np

from sag_vicreg.arrays import Floats, Ints, inverse
from sag_vicreg.structure.tree import Tree


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """The top of a tree as line segments.

    Leaves stand one unit apart along the leaf axis, so a branch that is shown as one end covers
    the places of its leaves.

    Attributes
    ----------
    order
        Leaves along the axis, shape (n,).
    places, heights
        Corners of the bracket of each merge shown, along the leaf axis and in height, each of shape
        (m, 4): up from one child, across, and down to the other.
    ends
        Where each end begins and stops along the leaf axis, shape (m + 1, 2), in order.
    branches
        The end each leaf belongs to, shape (n,), numbered along the axis.
    """

    order: Ints
    places: Floats
    heights: Floats
    ends: Ints
    branches: Ints


def dendrogram(tree: Tree, *, order: Ints | None = None, top: int = 60) -> Dendrogram:
    """Lay out the ``top`` highest merges of ``tree``, its leaves in ``order``.

    ``order`` must keep the leaves of every cluster together, as the tree's own order and those of
    :func:`~sag_vicreg.structure.untangle` do.
    """
    order = tree.leaf_order if order is None else order
    n, m = tree.n, min(top, tree.n - 1)
    begins: list[int] = inverse(order).tolist()
    for one, other in tree.children.tolist():
        begins.append(min(begins[one], begins[other]))
    first = np.array(begins)
    closed = 2 * n - 1 - m  # nodes below the merges shown
    shown, tops = tree.children[-m:], tree.heights[-m:]
    centre = first + tree.sizes / 2.0
    for merge, (one, other) in enumerate(shown, start=closed):
        centre[merge] = (centre[one] + centre[other]) / 2
    # A branch that is not opened is drawn from the floor, like a leaf.
    height = np.append(np.zeros(closed), tops)
    across = np.argsort(centre[shown], axis=1, kind="stable")
    left, right = np.take_along_axis(shown, across, axis=1).T
    ends = shown[shown < closed]
    ends = ends[np.argsort(first[ends])]
    branches = np.repeat(np.arange(m + 1), tree.sizes[ends])
    return Dendrogram(
        order=order,
        places=centre[np.column_stack([left, left, right, right])],
        heights=np.column_stack([height[left], tops, tops, height[right]]),
        ends=np.column_stack([first[ends], first[ends] + tree.sizes[ends]]),
        branches=branches[first[:n]],
    )

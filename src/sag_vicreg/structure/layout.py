"""Coordinates of dendrograms, for whoever draws them."""

from dataclasses import dataclass

import numpy as np

from sag_vicreg.structure.arrays import Floats, Ints, inverse
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
    shown = np.arange(n - 1 - m, n - 1)
    centre = first + tree.sizes / 2.0
    height = np.zeros(2 * n - 1)
    height[n:] = tree.heights
    # A branch that is not opened is drawn from the floor, like a leaf.
    height[n : n + n - 1 - m] = 0.0
    for merge in shown:
        centre[n + merge] = centre[tree.children[merge]].mean()
    left, right = tree.children[shown].T
    swap = centre[left] > centre[right]
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    top_height = height[n + shown]
    nodes = np.concatenate([left, right])
    nodes = nodes[nodes < n + n - 1 - m]
    nodes = nodes[np.argsort(first[nodes])]
    ends = np.column_stack([first[nodes], first[nodes] + tree.sizes[nodes]])
    branches = np.empty(n, np.int64)
    branches[order] = np.repeat(np.arange(m + 1), tree.sizes[nodes])
    return Dendrogram(
        order=order,
        places=np.column_stack([centre[left], centre[left], centre[right], centre[right]]),
        heights=np.column_stack([height[left], top_height, top_height, height[right]]),
        ends=ends,
        branches=branches,
    )

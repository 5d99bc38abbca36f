"""Two trees side by side: rotate branches until few lines between equal leaves cross."""

from dataclasses import dataclass

import numpy as np

from sag_vicreg.arrays import Ints, inverse
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.tree import Tree

_SWEEPS = 20


@dataclass(frozen=True, eq=False)
class Tanglegram:
    """Leaf orders of two trees, top to bottom, and how entangled they leave the lines.

    ``crossings`` counts pairs of lines that cross, of n(n - 1)/2; ``entanglement`` is 0 for
    parallel lines and 1 for one order reversed (the L1.5 norm of dendextend).
    """

    order_a: Ints
    order_b: Ints
    crossings: int
    entanglement: float


def untangle(tree_a: Tree, tree_b: Tree) -> Tanglegram:
    """Reduce the crossings between two trees by rotating their branches in turn.

    With one tree held still, each branch of the other can be turned to its best side on its own,
    and all together are the optimum (Dwyer and Schreiber, 2004). The trees take turns until neither
    gains; both together are NP-hard, so this is a local optimum, reached from two starts.
    """
    starts = tree_b.leaf_order, turned(tree_b, inverse(tree_a.leaf_order))[0]
    found = [_take_turns(tree_a, tree_b, order_b) for order_b in starts]
    return min(found, key=lambda each: each.crossings)


def _take_turns(tree_a: Tree, tree_b: Tree, order_b: Ints) -> Tanglegram:
    """Turn the branches of one tree, then of the other, until nothing is gained."""
    before, crossings = -1, -1
    for _ in range(_SWEEPS):
        order_a, _ = turned(tree_a, inverse(order_b))
        order_b, crossings = turned(tree_b, inverse(order_a))
        if crossings == before:
            break
        before = crossings
    return Tanglegram(order_a, order_b, crossings, entanglement(order_a, order_b))


def entanglement(order_a: Ints, order_b: Ints) -> float:
    """Measure how far equal leaves lie apart in two orders: 0 for none, 1 for one reversed."""
    n = len(order_a)
    apart = np.abs(inverse(order_a) - inverse(order_b)) ** 1.5
    worst = np.abs(np.arange(n) - np.arange(n)[::-1]) ** 1.5
    return float(apart.sum() / worst.sum())


def turned(tree: Tree, places: Ints) -> tuple[Ints, int]:
    """Turn every branch of ``tree`` to its better side; return its leaf order and crossings."""
    order = np.empty(tree.n, np.int64)
    crossings = kernel("trees").turn_branches(
        tree.children, tree.sizes, tree.starts, tree.leaf_order, places, order
    )
    return order, int(crossings)

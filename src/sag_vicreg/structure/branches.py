"""Branches that a set's trees agree on, and what became of them in another set.

Near its root one tree is a coin toss, so branches are read off a forest. Average linkage of what
its trees say of each pair gives a consensus tree (Monti et al., 2003); a branch of it counts where
it recurs in most trees of the forest. It recurs in a tree that has a branch of nearly the same
items, by Jaccard's index, as in Hennig's (2007) stability of clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sag_vicreg.arrays import Bools, Floats, Floats32, Ints
from sag_vicreg.structure.forest import Forest
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.parallel import Workers, blocks
from sag_vicreg.structure.tree import Tree

FATES = ("kept", "split", "merged", "scattered")
SUPPORT = 0.7
"""Share of a set's trees in which a branch must recur to count."""
NEARLY_ALL = 0.75
"""Share of a branch's items that counts as nearly all of it."""
# Jaccard's index from which a branch recurs.
_RECURS = 0.75
# Share of all other items from which a branch that holds it tells nothing.
_EVERYWHERE = 0.5
# A set of items is merged into a branch of which it is so much, even where pieces can be told.
_MIXED = 0.4
_FEWEST = 10
# A branch is shown by its own branches where these hold so much of it, and there are few enough.
_COVERED, _MOST_SHOWN, _SHOWN = 0.8, 12, 0.02
_EXAMPLES = 5
_CLUSTERS = 8


@dataclass(frozen=True, eq=False)
class Branch:
    """A branch that recurs in most trees of a set.

    Attributes
    ----------
    rows : (size,) int64
        Its items, as rows of the set, those nearest its centre first.
    support : float
        Share of the set's trees in which it recurs.
    fate : str or None
        What it is in the other set: ``"kept"``; ``"split"`` into branches of its own items;
        ``"merged"``, together but mixed with others; ``"scattered"``. None where nobody asked.
    agreement : float or None
        Share of the other set's trees that say so.
    """

    rows: Ints
    support: float
    fate: str | None = None
    agreement: float | None = None

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.rows)

    @property
    def examples(self) -> Ints:
        """The rows nearest its centre."""
        return self.rows[:_EXAMPLES]


@dataclass(frozen=True, eq=False)
class Resolved:
    """Sets of items that recur as branches, largest first.

    Attributes
    ----------
    members : (branches, items) bool
        Which items, by their places in the forest, are in which branch.
    support : (branches,) float64
        Share of the forest's trees in which each recurs.
    """

    members: Bools
    support: Floats

    def take(self, places: Sequence[int]) -> "Resolved":
        """Return some of them."""
        return Resolved(self.members[list(places)], self.support[list(places)])


def resolved_branches(mean: Floats32, forest: Forest) -> Resolved:
    """Find the branches of the consensus tree that recur in the forest.

    ``mean`` is what its trees say on average of the pairs of its first items, row < column; NaN
    where no tree holds a pair, as happens among few trees.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    known = len(mean)
    pairs = squareform(mean, checks=False)
    # Nothing is known of such a pair: it neither joins its items nor keeps them apart.
    pairs[np.isnan(pairs)] = np.nanmean(pairs)
    tree = Tree(linkage(pairs, "average"))
    nodes = np.flatnonzero((tree.sizes >= _FEWEST) & (tree.sizes <= known // 2))
    # Leaves of a node stand side by side in leaf order.
    place, start = tree.starts[:known], tree.starts[nodes, None]
    members = (place >= start) & (place < start + tree.sizes[nodes, None])
    support: Floats = (look_for(members, forest, needed=SUPPORT)[:, :, 0] >= _RECURS).mean(axis=1)
    # Of branches that are nearly the same, as a chain of joining items makes them, the best stands.
    chosen: list[int] = []
    for k in np.argsort(-support, kind="stable").tolist():
        if support[k] >= SUPPORT and all(
            (members[k] & members[j]).sum() < _RECURS * (members[k] | members[j]).sum()
            for j in chosen
        ):
            chosen.append(k)
    chosen.sort(key=lambda k: -int(tree.sizes[nodes[k]]))
    return Resolved(members, support).take(chosen)


def fates(members: Bools, forest: Forest) -> list[tuple[str, float]]:
    """Say what sets of items are in another forest, and how many of its trees say so."""
    votes = judge(look_for(members, forest, pieces=True)).mean(axis=2)
    winners = votes.argmax(axis=0).tolist()
    return [(FATES[winner], float(votes[winner, k])) for k, winner in enumerate(winners)]


def judge(found: Floats) -> Bools:
    """Say which of the four fates is that of each set of items in each tree, on the first axis.

    ``found`` has on its last axis what the kernel ``find_again`` finds: the largest Jaccard index
    of a branch that holds nearly all of the set; of the smallest such branch, how much of it is the
    set's and which share of all other items is in it; how much of the set lies in branches of
    nearly its own, and how many these are.
    """
    jaccard, own, outsiders, covered, pieces = np.moveaxis(found, -1, 0)
    kept = (jaccard >= _RECURS) | ((covered >= NEARLY_ALL) & (pieces == 1))
    merged = ~kept & (own >= _MIXED)
    split = ~kept & ~merged & (covered >= NEARLY_ALL)
    merged |= ~kept & ~split & (outsiders < _EVERYWHERE)
    return np.stack([kept, split, merged, ~kept & ~split & ~merged])


def look_for(
    members: Bools, forest: Forest, *, pieces: bool = False, needed: float = 0.0
) -> Floats:
    """Look for sets of the first items in all trees: see the kernel for what is found.

    A set that can no longer recur in a share of ``needed`` trees is given up.
    """
    trees = forest.trees
    found = np.empty((len(members), trees, 5))
    most_missed = max(k for k in range(trees + 1) if (trees - k) / trees >= needed)

    def look(part: slice) -> None:
        kernel("movements").find_again(
            forest.order,
            forest.value,
            members.shape[1],
            members[part],
            NEARLY_ALL,
            pieces,
            _RECURS,
            most_missed,
            found[part],
        )

    with Workers(forest.n) as workers:
        workers.map(look, blocks(len(members), _CLUSTERS))
    return found


def as_branches(
    resolved: Resolved, forest: Forest, other: Forest | None = None
) -> tuple[Branch, ...]:
    """Describe branches of a forest; with ``other``, also what became of them there."""
    became: Sequence[tuple[str | None, float | None]] = (
        [(None, None)] * len(resolved.members) if other is None else fates(resolved.members, other)
    )
    branches = []
    for members, support, (fate, agreement) in zip(
        resolved.members, resolved.support.tolist(), became, strict=True
    ):
        places = np.flatnonzero(members)
        centre = forest.points[places].mean(axis=0)
        near = np.linalg.norm(forest.points[places] - centre, axis=1)
        rows = forest.items[places[np.argsort(near, kind="stable")]]
        branches.append(Branch(rows, support, fate, agreement))
    return tuple(branches)


def partition(members: Bools) -> list[int]:
    """Choose branches that do not overlap, for a picture: fine ones, where they cover coarse ones.

    ``members`` come largest first; those of less than 2 percent of the items are left out.
    """
    sizes = members.sum(axis=1)
    large = [k for k in range(len(members)) if sizes[k] >= _SHOWN * members.shape[1]]
    inside = {
        k: [j for j in large if j > k and not (members[j] & ~members[k]).any()] for k in large
    }
    nested = {j for each in inside.values() for j in each}
    shown = _apart(members, [k for k in large if k not in nested])
    while True:
        finer = {
            k: below
            for k in shown
            if (below := _apart(members, inside[k]))
            and sizes[below].sum() >= _COVERED * sizes[k]
            and len(shown) - 1 + len(below) <= _MOST_SHOWN
        }
        if not finer:
            return sorted(shown)
        largest = max(finer, key=lambda k: int(sizes[k]))
        shown = [k for k in shown if k != largest] + finer[largest]


def _apart(members: Bools, choices: Sequence[int]) -> list[int]:
    """Take the largest first, and of the rest what does not overlap."""
    taken: list[int] = []
    for k in choices:
        if not any((members[k] & members[j]).any() for j in taken):
            taken.append(k)
    return taken

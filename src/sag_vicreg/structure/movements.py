"""What moved between two sets: items, and the branches they belong to.

Single trees report chaos after a rounding, so movements come from forests. An item's place is its
row of averages: how small a cluster it shares with every other item. Two such rows are correlated
and corrected as the whole score is, by the item's own reliability.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sag_vicreg.arrays import Array, Bools, Floats, Floats32, Ints
from sag_vicreg.structure.branches import (
    Branch,
    Resolved,
    as_branches,
    partition,
    resolved_branches,
)
from sag_vicreg.structure.forest import Forest
from sag_vicreg.structure.forest_tables import PairAverages
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.nearest import is_among, nearest_items
from sag_vicreg.structure.parallel import Workers, blocks

Names = Sequence[Any] | Array

MOVED = 0.1
"""Motion of its own from which an item counts as moved: rounding moves hardly any so far."""
PARTNERS = 3_000
"""Most items that the rows of averages run over, and that branches are of."""
_NEIGHBORS, _COMPANY = 10, 50
_ROWS = 32


@dataclass(frozen=True)
class ClassMovement:
    """How the items of one class moved: how many there are, means, and the share that moved."""

    label: str
    items: int
    similarity: float
    neighbors_lost: float
    moved: float


@dataclass(frozen=True, eq=False)
class Flow:
    """How many items of which branch of one set are in which branch of the other.

    ``counts[i, j]`` are items of ``old[i]`` that are in ``new[j]``; the last row and the last
    column are items in none of them, which are not resolved.
    """

    old: tuple[Branch, ...]
    new: tuple[Branch, ...]
    counts: Ints = field(repr=False)


@dataclass(frozen=True, eq=False)
class Movements:
    """What :func:`movements` found; all arrays are by item, in the order of ``rows``.

    Attributes
    ----------
    rows : (n,) int64
        Rows of the sets that took part.
    similarity : (n,) float64
        Of the item's place in both sets: 1 where it kept it; 0 where in one set alone it is beyond
        all others. NaN where the trees of a set do not agree where it belongs.
    reliability : (n,) float64
        How well the trees of both sets repeat the item's place; the similarity is divided by it.
    neighbors_lost : (n,) float64
        Share of its nearest items in the old set that are not its nearest in the new one.
    motion : (n,) float64
        ``1 - similarity``, net of what its company did: an old neighbour that is still near has
        come along, and its own motion is taken off. 0 for an item that moved with its neighbours.
    old_neighbors, new_neighbors : (n, 10) int64
        Its nearest items in either set, as rows, the nearest first.
    branches : tuple of Branch
        Branches of the old set that recur in its trees, and what became of them, largest first.
    unresolved : int
        Items of the old set that are in none of them.
    flow : Flow
        Between branches of both sets that do not overlap.
    """

    rows: Ints
    similarity: Floats = field(repr=False)
    reliability: Floats = field(repr=False)
    neighbors_lost: Floats = field(repr=False)
    motion: Floats = field(repr=False)
    old_neighbors: Ints = field(repr=False)
    new_neighbors: Ints = field(repr=False)
    branches: tuple[Branch, ...]
    unresolved: int
    flow: Flow

    @property
    def moved(self) -> Bools:
        """Whether each item moved: by more than 0.1 of its own."""
        return self.motion > MOVED

    def movers(self, count: int | None = None) -> Ints:
        """Return the places in ``rows`` of the items that moved, the farthest first."""
        far = np.lexsort((-self.neighbors_lost, -np.nan_to_num(self.motion, nan=-np.inf)))
        return far[: min(int(self.moved.sum()), len(far) if count is None else count)]

    def by_class(self, labels: Names) -> tuple[ClassMovement, ...]:
        """Average over the items of each class, the one with most movers first.

        ``labels`` are of all rows of the sets, those that took no part included.
        """
        own = np.asarray(labels)[self.rows]
        found = []
        for label in np.unique(own):
            of = own == label
            known = self.similarity[of]
            similarity = float(np.nanmean(known)) if np.isfinite(known).any() else math.nan
            lost, moved = float(self.neighbors_lost[of].mean()), float(self.moved[of].mean())
            found.append(ClassMovement(str(label), int(of.sum()), similarity, lost, moved))
        return tuple(sorted(found, key=lambda each: (-each.moved, each.similarity)))

    def sentence(self) -> str:
        """Say in one sentence what moved."""
        fates = [branch.fate for branch in self.branches]
        counted = [f"{fates.count(fate)} {fate}" for fate in dict.fromkeys(fates)]
        branches = f"; of {len(fates)} branches {', '.join(counted)}" if fates else ""
        return f"{self.moved.sum():,} of {len(self.rows):,} items moved{branches}"

    def to_dict(
        self,
        *,
        ids: Names | None = None,
        labels: Names | None = None,
        texts: Names | None = None,
        count: int | None = 20,
    ) -> dict[str, Any]:
        """Return what JSON can hold: the ``count`` items that moved most, branches, classes.

        Items are named by ``ids``, of all rows of the sets; by row where there are none. With
        ``texts``, each item that moved has its own.
        """

        def name(row: int) -> Any:
            return int(row) if ids is None else str(ids[row])

        def text(row: int) -> dict[str, str]:
            return {} if texts is None else {"text": str(texts[row])}

        return {
            "items": len(self.rows),
            "moved": int(self.moved.sum()),
            "movers": [
                {
                    "item": name(self.rows[place]),
                    **text(self.rows[place]),
                    "motion": float(self.motion[place]),
                    "similarity": float(self.similarity[place]),
                    "neighbors_lost": float(self.neighbors_lost[place]),
                    "old_neighbors": [name(row) for row in self.old_neighbors[place]],
                    "new_neighbors": [name(row) for row in self.new_neighbors[place]],
                }
                for place in self.movers(count)
            ],
            "branches": [
                {
                    "size": branch.size,
                    "support": branch.support,
                    "fate": branch.fate,
                    "agreement": branch.agreement,
                    "examples": [name(row) for row in branch.examples],
                }
                for branch in self.branches
            ],
            "unresolved": self.unresolved,
            "classes": None if labels is None else [asdict(x) for x in self.by_class(labels)],
        }


def movements(forest_a: Forest, forest_b: Forest, *, partners: int = PARTNERS) -> Movements:
    """Say what moved from one set to the other.

    Parameters
    ----------
    forest_a, forest_b
        From :func:`~sag_vicreg.structure.ward_forest`, over the same items with the same options;
        the first is the old set.
    partners
        Most items that each item's row of averages runs over, and that branches are made of: the
        first of the forests, which come in random order.

    Examples
    --------
    >>> from sag_vicreg.structure import ward_forest
    >>> a = np.repeat(np.eye(4), 25, axis=0) + np.random.default_rng(0).normal(0, 0.1, (100, 4))
    >>> b = a.copy()
    >>> b[[0, 99]] = a[[99, 0]]
    >>> found = movements(ward_forest(a), ward_forest(b))
    >>> sorted(found.rows[found.movers()])
    [np.int64(0), np.int64(99)]
    >>> found.sentence()
    '2 of 100 items moved; of 5 branches 5 kept'
    """
    moments, mean_a, mean_b = _moments(PairAverages(forest_a, forest_b), partners)
    similarity, reliability = _corrected(moments)
    near = min(_NEIGHBORS, forest_a.n - 1)
    old = nearest_items(forest_a.points, near)
    new = nearest_items(forest_b.points, min(_COMPANY, forest_a.n - 1))
    lost = 1 - is_among(old, new[:, :near]).mean(axis=1)
    own = np.clip(1 - similarity, 0, None)
    along = np.where(is_among(old, new), np.nan_to_num(own)[old], 0).mean(axis=1)
    resolved_a = resolved_branches(mean_a, forest_a)
    resolved_b = resolved_branches(mean_b, forest_b)
    branches = as_branches(resolved_a, forest_a, forest_b)
    return Movements(
        rows=forest_a.items,
        similarity=similarity,
        reliability=reliability,
        neighbors_lost=lost,
        motion=np.clip(own - along, 0, None),
        old_neighbors=forest_a.items[old],
        new_neighbors=forest_a.items[new[:, :near]],
        branches=branches,
        unresolved=int((~resolved_a.members.any(axis=0)).sum()),
        flow=_flow(resolved_a, branches, resolved_b, forest_b),
    )


def branches_of(forest: Forest) -> tuple[Branch, ...]:
    """Return the branches that recur in a forest's trees and do not overlap, largest first.

    Examples
    --------
    >>> from sag_vicreg.structure import ward_forest
    >>> x = np.repeat(np.eye(4), 25, axis=0) + np.random.default_rng(0).normal(0, 0.1, (100, 4))
    >>> [branch.size for branch in branches_of(ward_forest(x))]
    [25, 25, 25, 25]
    """
    _, mean, _ = _moments(PairAverages(forest, forest), PARTNERS)
    found = resolved_branches(mean, forest)
    return as_branches(found.take(partition(found.members)), forest)


def _moments(averages: PairAverages, partners: int) -> tuple[Ints, Floats32, Floats32]:
    """Sum up each item's row; return also what the trees of both sets say of pairs of partners."""
    found = kernel("movements")
    n = averages.a.n
    partners = min(partners, n)
    mean_a, mean_b = (np.zeros((partners, partners), np.float32) for _ in range(2))

    def add(part: list[slice]) -> Ints:
        moments = np.zeros((n, found.MOMENTS), np.int64)
        for rows in part:
            found.add_items(*averages.rows(rows), rows.start, partners, moments, mean_a, mean_b)
        return moments

    every = blocks(partners, _ROWS)
    with Workers(n) as workers:
        parts = workers.map(add, [every[k :: workers.count] for k in range(workers.count)])
    return np.sum(parts, axis=0), mean_a, mean_b


def _corrected(moments: Ints) -> tuple[Floats, Floats]:
    """Return each item's corrected correlation, and the reliability it was divided by.

    An item that joins all others at the root of every tree has a row without spread. The trees
    agree on it, and it is like another such row and like nothing else.
    """
    count = moments[:, :1].astype(np.float64)
    whole = moments.astype(object)
    flat = (whole[:, :1] * whole[:, 5:9] == whole[:, 1:5] ** 2) & (moments[:, :1] > 0)
    apart = flat[:, ::2] & flat[:, 1::2]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = moments[:, 1:5] / count
        spread: Floats = np.sqrt(moments[:, 5:9] / count - mean**2)

        def correlation(place: int, one: int, other: int) -> Floats:
            together = moments[:, place] / count[:, 0] - mean[:, one] * mean[:, other]
            return together / (spread[:, one] * spread[:, other])

        across = (correlation(9, 0, 3) + correlation(10, 1, 2)) / 2
        across = np.where(apart.any(axis=1), apart.all(axis=1), across)
        within = np.clip([correlation(11, 0, 1), correlation(12, 2, 3)], 0, None)
        within = np.where(apart.T, 1.0, within)
        reliability = np.sqrt(within[0] * within[1])
        similarity = np.where(reliability > 0, across / reliability, np.nan)
    return similarity, reliability


def _flow(old: Resolved, branches: Sequence[Branch], new: Resolved, forest: Forest) -> Flow:
    """Count between some ``branches`` of the old set and some of the new set's ``forest``."""
    shown, new = partition(old.members), new.take(partition(new.members))
    one, other = (
        np.vstack([members, ~members.any(axis=0)]).astype(np.int64)
        for members in (old.members[shown], new.members)
    )
    return Flow(tuple(branches[k] for k in shown), as_branches(new, forest), one @ other.T)

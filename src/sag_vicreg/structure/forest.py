"""A forest: the Ward trees of many random halves of one set.

Near its root one tree is a coin toss: a handful of items decides which large branches meet first.
Averaged over trees of random halves, what is said of a pair of items settles. The averages form a
consensus, or co-association, matrix (Monti et al., 2003; Fred and Jain, 2005); halves come in
complementary pairs (Shah and Samworth, 2013), so every item is in every second tree.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Floats, Ints, Ints32
from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.structure.joint import merge_codes
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.memory import check_fits
from sag_vicreg.structure.parallel import OneThread, Workers, blocks
from sag_vicreg.structure.points import as_points, as_vectors, check_geometry
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import grow_tree, trees_of_parts
from sag_vicreg.structure.ward_matrix import cosine_triangle

TREES = 100
"""Trees of a forest by default: plain scores of different numbers of trees are not comparable."""

FOREST_DISTANCES = ("size", "level", "order", "height")
FEWEST_ROWS = 50
MOST_ITEMS = 10_000
# Of more trees that hold a pair its sum would pass 32 bits, and of more items a number of pairs.
MOST_TREES_OF_A_PAIR, LIMIT_OF_ITEMS = 4_000, 65_000
# Trees that one task builds.
_TOGETHER = 4
# Items times trees below which nobody waits long enough to want a bar.
_QUICK = 100_000


@dataclass(frozen=True, eq=False)
class Forest:
    """The Ward trees of random halves of one set.

    Two forests of as many rows with equal ``seed``, ``trees`` and ``items`` are of the same halves.

    Attributes
    ----------
    items : (n,) int64
        Rows of the set that take part, in random order; all of them up to 10,000.
    order : (trees, m) int32
        Items of each tree in leaf order, as places in ``items``.
    value : (trees, m - 1) int32
        What the merge between two neighbours in leaf order says of a pair that meets there, in
        units of 2**-20; it never falls on the way up.
    half : (trees / 2, n) int8
        The half each item is in: tree 2s is of half 0 of split s, tree 2s + 1 of half 1. Empty
        where every tree holds all items, as trees with anchors do.
    leaves : int
        Of each tree, the paper's m. Of trees with anchors only these are in ``order``.
    """

    geometry: str
    distance: str
    seed: int
    n_rows: int
    items: Ints
    order: Ints32 = field(repr=False)
    value: Ints32 = field(repr=False)
    half: npt.NDArray[np.int8] = field(repr=False)
    points: Floats = field(repr=False)
    leaves: int

    @property
    def n(self) -> int:
        """Items that take part."""
        return len(self.items)

    @property
    def trees(self) -> int:
        """Number of trees."""
        return len(self.order)


def ward_forest(
    a: Any,
    *,
    trees: int = TREES,
    geometry: str = "cosine",
    distance: str = "size",
    items: int = MOST_ITEMS,
    seed: int = 0,
    name: str = "embeddings",
) -> Forest:
    """Build the Ward trees of random halves of the rows of ``a``.

    Parameters
    ----------
    a
        Shape (n, d), n of 50 or more: an array, a list of lists or a torch tensor.
    trees
        A multiple of 4: halves come in pairs, and the pairs in two groups.
    geometry
        As in :func:`~sag_vicreg.structure.ward_tree`.
    distance
        What a tree of m leaves says of a pair: ``"size"``, log(leaves of the smallest common
        cluster) / log(m); ``"level"``, ``"order"`` and ``"height"``, as in
        :func:`~sag_vicreg.structure.lca_similarity`, divided by the root's. Averages are told
        apart down to 1/65,536: far outliers, which raise the root, leave heights no digits.
    items
        Of more rows than this, a seeded random sample takes part.
    seed
        Of the sample and the halves.
    name
        What to call ``a`` in error messages.

    Examples
    --------
    >>> forest = ward_forest(np.random.default_rng(0).normal(size=(60, 4)), trees=8)
    >>> forest.trees, forest.leaves
    (8, 30)
    """
    check_forest(trees=trees, distance=distance, items=items, seed=seed)
    check_geometry(geometry)
    vectors = as_vectors(a, name)
    if len(vectors) < FEWEST_ROWS:
        raise InputError(f"{name} has {len(vectors)} rows: a forest needs at least {FEWEST_ROWS}")
    return forests_of_points(
        [as_points(vectors, geometry, name)],
        geometry,
        trees=trees,
        distance=distance,
        items=items,
        seed=seed,
    )[0]


def check_forest(*, trees: int, distance: str, items: int = MOST_ITEMS, seed: int = 0) -> None:
    """Refuse options that no sets could satisfy."""
    if trees > 2 * MOST_TREES_OF_A_PAIR:
        raise InputError(f"{trees} trees: a forest has at most {2 * MOST_TREES_OF_A_PAIR:,}")
    if trees < 4 or trees % 4:
        raise InputError(
            f"{trees} trees: complementary halves in two groups need a multiple of 4, "
            f"such as {max(4, round(trees / 4) * 4)}"
        )
    if distance not in FOREST_DISTANCES:
        raise unknown_name("forest distance", distance, FOREST_DISTANCES)
    if items < FEWEST_ROWS:
        raise InputError(f"items is {items}: a forest needs at least {FEWEST_ROWS}")
    if items > LIMIT_OF_ITEMS:
        raise InputError(f"items is {items}: in a forest at most {LIMIT_OF_ITEMS:,} take part")
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")


def forests_of_points(
    sets: Sequence[Floats],
    geometry: str,
    *,
    trees: int,
    distance: str,
    items: int = MOST_ITEMS,
    seed: int,
    workers: Workers | None = None,
) -> list[Forest]:
    """Build a forest of each of several sets of checked points, all of the same halves."""
    n_rows = len(sets[0])
    chosen = np.random.default_rng([seed, 2]).permutation(n_rows)[:items]
    n, m = len(chosen), len(chosen) // 2
    bare = [
        Forest(
            geometry,
            distance,
            seed,
            n_rows,
            chosen,
            np.empty((0, m), np.int32),
            np.empty((0, m - 1), np.int32),
            np.empty((0, n), np.int8),
            np.ascontiguousarray(x[chosen]),
            m,
        )
        for x in sets
    ]
    return with_trees(bare, trees, workers=workers)


def with_trees(
    forests: Sequence[Forest], trees: int, *, workers: Workers | None = None
) -> list[Forest]:
    """Add trees to forests of the same halves until each has ``trees``.

    On ``workers`` that are already there the trees are part of larger work, and show no bar.
    """
    one = forests[0]
    # Each split in random order: tree by tree, its first half and its second.
    halves = np.array(
        [
            np.random.default_rng([one.seed, 3, split]).permutation(one.n)[: 2 * one.leaves]
            for split in range(one.trees // 2, trees // 2)
        ],
        np.int64,
    ).reshape(-1, one.leaves)
    half = np.full((len(halves) // 2, one.n), -1, np.int8)
    for side in (0, 1):
        np.put_along_axis(half, halves[side::2], side, axis=1)
    bar = "trees" if workers is None and one.n * (trees - one.trees) > _QUICK else None
    with nullcontext(workers) if workers else Workers(one.n) as pool:
        return [_with_halves(forest, halves, half, pool, bar) for forest in forests]


def _with_halves(
    forest: Forest, halves: Ints, half: npt.NDArray[np.int8], workers: Workers, bar: str | None
) -> Forest:
    """Add the tree of each half."""
    trees, m = halves.shape
    order, value = np.empty((trees, m), np.int32), np.empty((trees, m - 1), np.int32)
    check_fits(forest.points, forest.geometry, halves=workers.count)
    # Half of the distances serve each tree: they are computed once.
    whole = cosine_triangle(forest.points, workers) if forest.geometry == "cosine" else None

    def grow(part: slice) -> None:
        grown = _trees_of(forest, halves[part], whole)
        for tree, (members, one) in enumerate(grown, start=part.start):
            order[tree] = members[one.leaf_order]
            value[tree] = merge_values(one, forest.distance)[one.boundaries]

    workers.map(grow, blocks(trees, _TOGETHER), bar=bar)
    return replace(
        forest,
        order=np.concatenate([forest.order, order]),
        value=np.concatenate([forest.value, value]),
        half=np.concatenate([forest.half, half]),
    )


def _trees_of(forest: Forest, halves: Ints, whole: Floats | None) -> Iterator[tuple[Ints, Tree]]:
    """Build the tree of each half; give it with the items as its leaves number them.

    A tie goes to the item that comes first. A half comes in random order: in any fixed one the
    trees of unrelated sets would break their ties alike, and agree. Out of the ``whole`` triangle
    distances are read in ascending order, which serves trees without ties.
    """
    ascending = np.sort(halves, axis=1)
    without_ties = trees_of_parts(whole, ascending) if whole is not None else repeat(None)
    for members, in_order, tree in zip(halves, ascending, without_ties, strict=False):
        if tree is not None and tree.ties == 0:
            yield in_order, tree
        else:
            yield members, grow_tree(forest.points[members], forest.geometry, OneThread())


def merge_values(tree: Tree, distance: str) -> Ints32:
    """Return what each merge of a tree says of the pairs that meet there, 1 at the root."""
    unit = kernel("forest").UNIT
    if distance == "size":
        said = np.log(tree.linkage[:, 3])
    else:
        codes, values = merge_codes(tree, distance)
        said = values[codes].astype(np.float64)
    if distance == "order":
        # A whole number of units per merge, so that sums that are equal stay equal.
        unit -= unit % (tree.n - 1)
    said_in_units: Ints32 = np.rint(said / (said[-1] or 1.0) * unit).astype(np.int32)
    return said_in_units

"""Compare embedding sets: two of them, or many with one another."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Literal

import numpy as np

from sag_vicreg.arrays import Floats
from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.structure.comparison import Comparison, Comparisons
from sag_vicreg.structure.cophenetic import cophenetic_correlations
from sag_vicreg.structure.forest import (
    FEWEST_ROWS,
    TREES,
    Forest,
    check_forest,
    forests_of_points,
    with_trees,
)
from sag_vicreg.structure.forest_similarity import ForestSimilarity, forest_similarity
from sag_vicreg.structure.forest_tables import PairAverages
from sag_vicreg.structure.forest_uncertainty import tree_error
from sag_vicreg.structure.joint import check_lca
from sag_vicreg.structure.memory import check_fits
from sag_vicreg.structure.points import as_points, as_vectors, check_geometry
from sag_vicreg.structure.similarity import permutation_p_values, score_half_samples, score_trees
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import tree_of_points

FEWEST_FOR_HALVES = 6
"""Rows from which half-samples can be taken."""
# `trees="auto"` adds trees until their Monte-Carlo error is this small, or there are this many.
_SMALL_ERROR, _MOST_TREES = 0.005, 1_000


@dataclass(frozen=True)
class CompareOptions:
    """The keyword options of :func:`compare`, checked before any tree is built."""

    geometry: str = "cosine"
    lca: str = "level"
    trees: int | Literal["auto"] = TREES
    forest_lca: str = "size"
    permutations: int = 0
    half_samples: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_geometry(self.geometry)
        check_lca(self.lca)
        for what in ("permutations", "half_samples", "seed"):
            if getattr(self, what) < 0:
                raise InputError(f"{what} is {getattr(self, what)}: give 0 or more")
        if self.half_samples == 1:
            raise InputError("half_samples is 1: a spread needs at least 2, or 0 for none")
        if isinstance(self.trees, str) and self.trees != "auto":
            raise unknown_name("number of trees", self.trees, ("auto", "100", "0"))
        if self.trees != 0:
            check_forest(trees=self.first_trees, distance=self.forest_lca)

    @property
    def first_trees(self) -> int:
        """How many trees to begin with."""
        return TREES if self.trees == "auto" else self.trees


def compare(
    a: Any,
    b: Any,
    *,
    geometry: str = "cosine",
    lca: str = "level",
    trees: int | Literal["auto"] = TREES,
    forest_lca: str = "size",
    permutations: int = 0,
    half_samples: int = 0,
    seed: int = 0,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare two sets of embeddings of the same items by their dendrograms.

    Parameters
    ----------
    a, b
        Shapes (n, d) and (n, e), row i of both standing for item i: arrays, lists or torch
        tensors, any float dtype.
    geometry
        ``"cosine"``, ``"spherical"`` or ``"euclidean"``; see :func:`ward_tree`.
    lca
        Of the single trees (paper, algorithm 2): ``"level"``, ``"path"``, ``"order"`` or
        ``"height"``; see :func:`lca_similarity`.
    trees
        Of the forests, a multiple of 4; see :func:`ward_forest`. ``"auto"`` adds trees until their
        Monte-Carlo error is below 0.005; 0 leaves the forests out.
    forest_lca
        Of the forests' trees: ``"size"``, ``"level"``, ``"order"`` or ``"height"``.
    permutations
        How many permutations of the rows of ``b`` the p-values rest on; 0 for none. The pairs of a
        set are not independent, so no textbook p-value holds for these correlations.
    half_samples
        How many random halves of the rows to compare anew, single trees included; 0 for none.
    seed
        Of the forests, the permutations and the half-samples.
    names
        What to call the two sets in error messages.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=(200, 8))
    >>> s = compare(a, a @ rng.normal(size=(8, 4)))
    >>> 0 < s.forest.spearman < 1
    True
    """
    found = compare_all(
        (a, b),
        geometry=geometry,
        lca=lca,
        trees=trees,
        forest_lca=forest_lca,
        permutations=permutations,
        half_samples=half_samples,
        seed=seed,
        names=names,
    )
    return found.pairs[0, 1]


def compare_all(
    sets: Sequence[Any],
    *,
    geometry: str = "cosine",
    lca: str = "level",
    trees: int | Literal["auto"] = TREES,
    forest_lca: str = "size",
    permutations: int = 0,
    half_samples: int = 0,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> Comparisons:
    """Compare every two of k sets, building each tree once; options as in :func:`compare`."""
    names = tuple(names or (f"set {index}" for index in range(len(sets))))
    if len(sets) < 2 or len(names) != len(sets):
        raise InputError(f"{len(sets)} sets and {len(names)} names: give at least two, each a name")
    options = CompareOptions(geometry, lca, trees, forest_lca, permutations, half_samples, seed)
    start = time.perf_counter()
    points = _points(sets, names, options)
    single = [tree_of_points(x, geometry) for x in points]

    @cache
    def self_score(tree: Tree) -> float:
        return cophenetic_correlations(tree, tree, [np.arange(tree.n)])[0]

    forests, left_out = _forests(points, options)
    pairs = {}
    for i, j in combinations(range(len(points)), 2):
        scores = score_trees(single[i], single[j], lca=lca)
        found, reason = None, left_out
        if forests:
            try:
                found, forests = _forest_similarity(forests, (i, j), options)
            except InputError as error:
                reason = str(error)
        p_values = (
            permutation_p_values(
                single[i], single[j], scores, lca=lca, permutations=permutations, seed=seed
            )
            if permutations
            else None
        )
        halves = (
            score_half_samples(
                points[i], points[j], geometry, lca=lca, count=half_samples, seed=seed
            )
            if half_samples
            else None
        )
        pairs[i, j] = Comparison(
            lca=scores.lca,
            cophenetic=scores.cophenetic,
            forest=found,
            forest_left_out=reason,
            self_scores=(self_score(single[i]), self_score(single[j])),
            geometry=geometry,
            lca_distance=lca,
            n=single[i].n,
            dimensions=(points[i].shape[1], points[j].shape[1]),
            ties=(single[i].ties, single[j].ties),
            seconds=time.perf_counter() - start,
            seed=seed,
            permutations=permutations,
            p_values=p_values,
            half_samples=halves,
            trees=(single[i], single[j]),
            forests=(forests[i], forests[j]) if found else None,
        )
        start = time.perf_counter()
    return Comparisons(names, pairs)


def _points(sets: Sequence[Any], names: Sequence[str], options: CompareOptions) -> list[Floats]:
    """Check everything that can be wrong before the first tree is built."""
    vectors = [as_vectors(x, name) for x, name in zip(sets, names, strict=True)]
    n = len(vectors[0])
    for x, name in zip(vectors, names, strict=True):
        if len(x) != n:
            raise InputError(
                f"{names[0]} has {n} rows and {name} has {len(x)}: "
                "row i of both must stand for the same item"
            )
        check_fits(x, options.geometry)
    if options.half_samples and n < FEWEST_FOR_HALVES:
        raise InputError(f"{n} rows: half-samples need at least {FEWEST_FOR_HALVES}")
    return [as_points(x, options.geometry, name) for x, name in zip(vectors, names, strict=True)]


def _forests(points: Sequence[Floats], options: CompareOptions) -> tuple[list[Forest], str | None]:
    """Build the forests, or say why there are none."""
    if options.trees == 0:
        return [], "no trees were asked for"
    if len(points[0]) < FEWEST_ROWS:
        return [], f"{len(points[0])} rows, and a forest needs at least {FEWEST_ROWS}"
    forests = forests_of_points(
        points,
        options.geometry,
        trees=options.first_trees,
        distance=options.forest_lca,
        seed=options.seed,
    )
    return forests, None


def _forest_similarity(
    forests: list[Forest], pair: tuple[int, int], options: CompareOptions
) -> tuple[ForestSimilarity, list[Forest]]:
    """Compare two of the forests; with ``trees="auto"`` add trees to all of them as needed."""
    if options.trees == "auto":
        while forests[0].trees < _MOST_TREES:
            averages = PairAverages(*(forests[k] for k in pair))
            if not tree_error(averages, averages.bins()) > _SMALL_ERROR:
                break
            forests = with_trees(forests, forests[0].trees + TREES)
    one, other = (forests[k] for k in pair)
    return forest_similarity(one, other, permutations=options.permutations), forests

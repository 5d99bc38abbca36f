"""Compare embedding sets: two of them, or many with one another."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.structure.joint import check_lca
from sag_vicreg.structure.memory import check_fits
from sag_vicreg.structure.points import as_points, as_vectors, check_geometry
from sag_vicreg.structure.scores import (
    SCORES,
    Scores,
    Spread,
    half_sample_spread,
    permutation_p_values,
    score_trees,
)
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import tree_of_points


@dataclass(frozen=True, eq=False)
class Comparison(Scores):
    """What :func:`compare` found.

    ``p_values`` are one-sided, from permuting the rows of the second set; ``half_samples`` is the
    spread over random halves. Both are None unless asked for. ``ties`` counts the merges of each
    tree that had another choice as good; ``seconds`` includes everything.
    """

    geometry: str
    lca_distance: str
    n: int
    ties: tuple[int, int]
    seconds: float
    seed: int
    permutations: int
    p_values: Scores | None
    half_samples: Spread | None
    trees: tuple[Tree, Tree] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: everything but the trees."""
        return {
            "lca": asdict(self.lca),
            "cophenetic": asdict(self.cophenetic),
            "geometry": self.geometry,
            "lca_distance": self.lca_distance,
            "n": self.n,
            "ties": list(self.ties),
            "seconds": self.seconds,
            "seed": self.seed,
            "permutations": self.permutations,
            "p_values": None if self.p_values is None else self.p_values.to_dict(),
            "half_samples": None if self.half_samples is None else asdict(self.half_samples),
        }


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Every pair of k sets, and each with itself; ``pairs[i, j]`` for i <= j."""

    names: tuple[str, ...]
    pairs: dict[tuple[int, int], Comparison]

    def matrix(self, score: str = "spearman") -> npt.NDArray[np.float64]:
        """Return one score for all pairs, shape (k, k).

        Row i, column j is the comparison of set i with set j. LCA scores are symmetric;
        ``d1_to_p2`` takes the tree of the row's set and the distances of the column's.
        """
        if score not in SCORES:
            raise unknown_name("score", score, SCORES)
        return self._matrix(score, lambda pair: pair)

    def p_values(self, score: str = "spearman") -> npt.NDArray[np.float64] | None:
        """Return the permutation p-values beside :meth:`matrix`; None where there are none."""
        if self._any.p_values is None:
            return None
        return self._matrix(score, lambda pair: pair.p_values)

    def deviations(self, score: str = "spearman") -> npt.NDArray[np.float64] | None:
        """Return the spread over half-samples beside :meth:`matrix`; None where there is none."""
        if self._any.half_samples is None:
            return None
        return self._matrix(score, _deviation)

    @property
    def _any(self) -> Comparison:
        return self.pairs[0, 1]

    def _matrix(
        self, score: str, of: Callable[[Comparison], Scores | None]
    ) -> npt.NDArray[np.float64]:
        """Lay one number of each pair out; NaN where a set has none with itself."""
        mirrored = {"d1_to_p2": "d2_to_p1", "d2_to_p1": "d1_to_p2"}.get(score, score)
        table = np.full((len(self.names), len(self.names)), np.nan)
        for (i, j), pair in self.pairs.items():
            if (scores := of(pair)) is not None:
                values = dict(zip(SCORES, scores.values(), strict=True))
                table[i, j], table[j, i] = values[score], values[mirrored]
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return every matrix, and every pair in full."""
        return {
            "names": list(self.names),
            "matrices": {score: self.matrix(score).tolist() for score in SCORES},
            "pairs": [
                {"a": self.names[i], "b": self.names[j], **pair.to_dict()}
                for (i, j), pair in self.pairs.items()
                if i != j
            ],
        }


def _deviation(pair: Comparison) -> Scores | None:
    return None if pair.half_samples is None else pair.half_samples.deviation


def compare(
    a: Any,
    b: Any,
    *,
    geometry: str = "cosine",
    lca: str = "level",
    permutations: int = 0,
    half_samples: int = 0,
    seed: int = 0,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare two sets of embeddings of the same items by their dendrograms (paper, algorithm 2).

    Parameters
    ----------
    a, b
        Shapes (n, d) and (n, e), row i of both standing for item i: arrays, lists or torch
        tensors, any float dtype.
    geometry
        ``"cosine"``, ``"spherical"`` or ``"euclidean"``; see :func:`ward_tree`.
    lca
        ``"level"``, ``"path"``, ``"order"`` or ``"height"``; see :func:`lca_similarity`.
    permutations
        How many permutations of the rows of ``b`` the p-values rest on; 0 for none. The pairs of a
        set are not independent, so no textbook p-value holds for these correlations.
    half_samples
        How many random halves of the rows to compare anew, trees included; 0 for none.
    seed
        Of the permutations and the half-samples.
    names
        What to call the two sets in error messages.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=(200, 8))
    >>> s = compare(a, a @ rng.normal(size=(8, 4)))
    >>> 0 < s.lca.spearman < 1
    True
    """
    _check_options(lca, permutations=permutations, half_samples=half_samples, seed=seed)
    start = time.perf_counter()
    tree_a, tree_b = _trees((a, b), names, geometry, half_samples)
    return _compare_trees(tree_a, tree_b, lca, permutations, half_samples, seed, start)


def compare_all(
    sets: Sequence[Any],
    *,
    geometry: str = "cosine",
    lca: str = "level",
    permutations: int = 0,
    half_samples: int = 0,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> Comparisons:
    """Compare every two of k sets, building each tree once; options as in :func:`compare`."""
    names = tuple(names or (f"set {index}" for index in range(len(sets))))
    if len(sets) < 2 or len(names) != len(sets):
        raise InputError(f"{len(sets)} sets and {len(names)} names: give at least two, each a name")
    _check_options(lca, permutations=permutations, half_samples=half_samples, seed=seed)
    start = time.perf_counter()
    trees = _trees(sets, names, geometry, half_samples)
    pairs = {}
    for i, j in combinations(range(len(trees)), 2):
        pairs[i, j] = _compare_trees(
            trees[i], trees[j], lca, permutations, half_samples, seed, start
        )
        start = time.perf_counter()
    for i, tree in enumerate(trees):
        pairs[i, i] = _compare_trees(tree, tree, lca, 0, 0, seed, start)
    return Comparisons(names, pairs)


def _check_options(lca: str, **numbers: int) -> None:
    """Refuse options that no sets could satisfy, before any tree is built."""
    check_lca(lca)
    for what, number in numbers.items():
        if number < 0:
            raise InputError(f"{what} is {number}: give 0 or more")
    if numbers["half_samples"] == 1:
        raise InputError("half_samples is 1: a spread needs at least 2, or 0 for none")


def _trees(
    sets: Sequence[Any], names: Sequence[str], geometry: str, half_samples: int
) -> list[Tree]:
    """Check everything that can be wrong before the first tree is built."""
    check_geometry(geometry)
    vectors = [as_vectors(x, name) for x, name in zip(sets, names, strict=True)]
    n = len(vectors[0])
    for x, name in zip(vectors, names, strict=True):
        if len(x) != n:
            raise InputError(
                f"{names[0]} has {n} rows and {name} has {len(x)}: "
                "row i of both must stand for the same item"
            )
        check_fits(x, geometry)
    if half_samples and n < 6:
        raise InputError(f"{n} rows: half-samples need at least 6")
    points = [as_points(x, geometry, name) for x, name in zip(vectors, names, strict=True)]
    return [tree_of_points(x, geometry) for x in points]


def _compare_trees(
    tree_a: Tree,
    tree_b: Tree,
    lca: str,
    permutations: int,
    half_samples: int,
    seed: int,
    start: float,
) -> Comparison:
    scores = score_trees(tree_a, tree_b, lca=lca)
    p_values = spread = None
    if permutations:
        p_values = permutation_p_values(
            tree_a, tree_b, scores, lca=lca, permutations=permutations, seed=seed
        )
    if half_samples:
        spread = half_sample_spread(tree_a, tree_b, lca=lca, half_samples=half_samples, seed=seed)
    return Comparison(
        lca=scores.lca,
        cophenetic=scores.cophenetic,
        geometry=str(tree_a.geometry),
        lca_distance=lca,
        n=tree_a.n,
        ties=(tree_a.ties, tree_b.ties),
        seconds=time.perf_counter() - start,
        seed=seed,
        permutations=permutations,
        p_values=p_values,
        half_samples=spread,
        trees=(tree_a, tree_b),
    )

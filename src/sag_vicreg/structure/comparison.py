"""Compare two embedding sets: trees, similarities, and how far chance could have made them."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.errors import InputError
from sag_vicreg.progress import track
from sag_vicreg.structure.cophenetic import (
    CopheneticSimilarity,
    cophenetic_correlations,
    cophenetic_similarity,
)
from sag_vicreg.structure.joint import check_lca, joint_table
from sag_vicreg.structure.lca import LCASimilarity, lca_similarity, similarity_of
from sag_vicreg.structure.memory import check_fits
from sag_vicreg.structure.parallel import Workers
from sag_vicreg.structure.points import as_points, as_vectors, check_geometry
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import tree_of_points

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Permutations whose cross terms share one pass over the distances.
_TOGETHER = 16


@dataclass(frozen=True)
class Scores:
    """The five numbers of a comparison, or one statistic of each."""

    lca: LCASimilarity
    cophenetic: CopheneticSimilarity

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries."""
        return asdict(self)

    def values(self) -> Floats:
        """Return the five numbers in order: Pearson, Spearman, Kendall, D1 to P2, D2 to P1."""
        lca, cophenetic = self.lca, self.cophenetic
        numbers = (lca.pearson, lca.spearman, lca.kendall, cophenetic.d1_to_p2, cophenetic.d2_to_p1)
        return np.array(numbers)


def _scores(numbers: Floats) -> Scores:
    pearson, spearman, kendall, d1_to_p2, d2_to_p1 = numbers.tolist()
    return Scores(
        LCASimilarity(pearson, spearman, kendall), CopheneticSimilarity(d1_to_p2, d2_to_p1)
    )


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over half-samples: how far the scores move, not a confidence."""

    mean: Scores
    deviation: Scores
    half_samples: int


@dataclass(frozen=True, eq=False)
class Comparison(Scores):
    """What :func:`compare` found.

    ``p_values`` are one-sided, from permuting the rows of the second set; ``half_samples`` is the
    spread over random halves. Both are None unless asked for.
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
    trees: tuple[Tree, Tree]

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
    start = time.perf_counter()
    check_geometry(geometry)
    check_lca(lca)
    for what, number in (("permutations", permutations), ("half_samples", half_samples)):
        if number < 0:
            raise InputError(f"{what} is {number}: give 0 or more")
    vectors = [as_vectors(x, name) for x, name in zip((a, b), names, strict=True)]
    if len(vectors[0]) != len(vectors[1]):
        raise InputError(
            f"{names[0]} has {len(vectors[0])} rows and {names[1]} has {len(vectors[1])}: "
            "row i of both must stand for the same item"
        )
    if half_samples and len(vectors[0]) < 6:
        raise InputError(f"{len(vectors[0])} rows: half-samples need at least 6")
    for x in vectors:
        check_fits(x, geometry)
    points = [as_points(x, geometry, name) for x, name in zip(vectors, names, strict=True)]
    trees = tree_of_points(points[0], geometry), tree_of_points(points[1], geometry)
    scores = score_trees(*trees, lca=lca)
    p_values = _p_values(trees, scores, lca, permutations, seed) if permutations else None
    spread = _half_samples(points, geometry, lca, half_samples, seed) if half_samples else None
    return Comparison(
        lca=scores.lca,
        cophenetic=scores.cophenetic,
        geometry=geometry,
        lca_distance=lca,
        n=len(points[0]),
        ties=(trees[0].ties, trees[1].ties),
        seconds=time.perf_counter() - start,
        seed=seed,
        permutations=permutations,
        p_values=p_values,
        half_samples=spread,
        trees=trees,
    )


def score_trees(tree_a: Tree, tree_b: Tree, *, lca: str = "level") -> Scores:
    """Take both similarities of two trees built by :func:`ward_tree`."""
    return Scores(lca_similarity(tree_a, tree_b, lca=lca), cophenetic_similarity(tree_a, tree_b))


def _p_values(
    trees: tuple[Tree, Tree], observed: Scores, lca: str, permutations: int, seed: int
) -> Scores:
    """Share of relabellings that score at least as high, the observed one counted among them.

    Permuting the rows of B relabels the leaves of its tree and moves nothing else: no tree is
    rebuilt, and all but the cross terms stay as they are.
    """
    tree_a, tree_b = trees
    rng = np.random.default_rng(seed)
    reached = np.zeros(5, np.int64)

    def lca_numbers(rows: Ints) -> tuple[float, float, float]:
        found = similarity_of(joint_table(tree_a, tree_b, lca, rows_of_b=rows))
        return found.pearson, found.spearman, found.kendall

    batches = [
        range(first, min(first + _TOGETHER, permutations))
        for first in range(0, permutations, _TOGETHER)
    ]
    with Workers() as workers:
        for batch in _tracked(batches, "permutations", tree_a.n * permutations):
            orders = [rng.permutation(tree_a.n) for _ in batch]
            inverses = [np.argsort(order) for order in orders]
            permuted = np.column_stack(
                [
                    np.array(workers.map(lca_numbers, orders)),
                    cophenetic_correlations(tree_a, tree_b, orders),
                    cophenetic_correlations(tree_b, tree_a, inverses),
                ]
            )
            # Equal scores that rounding tells apart count as reached.
            reached += (permuted >= observed.values() - 1e-12).sum(axis=0)
    return _scores((1 + reached) / (permutations + 1))


def _half_samples(
    points: Sequence[Floats], geometry: str, lca: str, half_samples: int, seed: int
) -> Spread:
    rng = np.random.default_rng([seed, 1])  # another stream than the permutations'
    n = len(points[0])
    found = []
    for _ in _tracked(range(half_samples), "half-samples", n * half_samples):
        rows = np.sort(rng.choice(n, n // 2, replace=False))
        half = [tree_of_points(x[rows], geometry) for x in points]
        found.append(score_trees(half[0], half[1], lca=lca).values())
    deviation = np.std(found, axis=0, ddof=1) if half_samples > 1 else np.zeros(5)
    return Spread(_scores(np.mean(found, axis=0)), _scores(deviation), half_samples)


def _tracked(items: Sequence[Any], what: str, work: int) -> Any:
    """Show a bar where the work is long enough to be waited for."""
    return track(items, what) if work > 20_000 else items

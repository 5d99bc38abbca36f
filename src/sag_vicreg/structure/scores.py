"""The five numbers of a comparison, and how far chance moves them."""

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
from sag_vicreg.structure.joint import joint_table
from sag_vicreg.structure.lca import LCASimilarity, lca_similarity, similarity_of
from sag_vicreg.structure.parallel import Workers
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import tree_of_points

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SCORES = ("pearson", "spearman", "kendall", "d1_to_p2", "d2_to_p1")
# Permutations whose cross terms share one pass over the distances.
_TOGETHER = 16
# Rows times repetitions below which nobody waits long enough to want a bar.
_QUICK = 20_000


@dataclass(frozen=True)
class Scores:
    """LCA and cophenetic similarity, or one statistic of each of their five numbers."""

    lca: LCASimilarity
    cophenetic: CopheneticSimilarity

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries."""
        return asdict(self)

    def values(self) -> Floats:
        """Return the five numbers in the order of ``SCORES``."""
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


def score_trees(tree_a: Tree, tree_b: Tree, *, lca: str = "level") -> Scores:
    """Take both similarities of two trees built by :func:`~sag_vicreg.structure.ward_tree`."""
    return Scores(lca_similarity(tree_a, tree_b, lca=lca), cophenetic_similarity(tree_a, tree_b))


def permutation_p_values(
    tree_a: Tree, tree_b: Tree, observed: Scores, *, lca: str, permutations: int, seed: int
) -> Scores:
    """Give the share of relabellings that score at least as high, the observed one among them.

    Permuting the rows of B relabels the leaves of its tree and moves nothing else: no tree is
    rebuilt, and all but the cross terms stay as they are.
    """
    rng = np.random.default_rng(seed)
    reached = np.zeros(len(SCORES), np.int64)

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


def half_sample_spread(
    tree_a: Tree, tree_b: Tree, *, lca: str, half_samples: int, seed: int
) -> Spread:
    """Compare random halves of the rows, with their trees built anew."""
    n, geometry = tree_a.n, tree_a.geometry
    points = tree_a.points, tree_b.points
    if geometry is None or points[0] is None or points[1] is None:
        raise InputError("the tree holds no points: build it with ward_tree to have half-samples")
    rng = np.random.default_rng([seed, 1])  # another stream than the permutations'
    found = []
    for number in _tracked(range(half_samples), "half-samples", n * half_samples):
        rows = np.sort(rng.choice(n, n // 2, replace=False))
        half = [tree_of_points(x[rows], geometry) for x in points if x is not None]
        try:
            found.append(score_trees(half[0], half[1], lca=lca).values())
        except InputError as error:
            raise InputError(
                f"half-sample {number + 1} of {half_samples}: {error}; leave half-samples out"
            ) from error
    deviation = np.std(found, axis=0, ddof=1)
    return Spread(_scores(np.mean(found, axis=0)), _scores(deviation), half_samples)


def _tracked(items: Sequence[Any], what: str, work: int) -> Any:
    """Show a bar where the work is long enough to be waited for."""
    return track(items, what) if work > _QUICK else items

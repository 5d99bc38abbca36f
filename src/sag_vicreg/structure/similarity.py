"""The five numbers of a comparison, and how far chance moves them."""

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats, Ints, inverse
from sag_vicreg.errors import InputError
from sag_vicreg.progress import track
from sag_vicreg.scores import LCA, PAPERS_FIVE, Spread
from sag_vicreg.structure.cophenetic import (
    CopheneticSimilarity,
    cophenetic_correlations,
    cophenetic_similarity,
)
from sag_vicreg.structure.joint import joint_table
from sag_vicreg.structure.lca import LCASimilarity, lca_similarity, similarity_of
from sag_vicreg.structure.parallel import Workers, blocks
from sag_vicreg.structure.tree import Tree
from sag_vicreg.structure.ward import tree_of_points

# Permutations whose cross terms share one pass over the distances.
_TOGETHER = 16
# Rows times repetitions below which nobody waits long enough to want a bar.
_QUICK = 20_000


@dataclass(frozen=True)
class Scores:
    """LCA and cophenetic similarity, or one statistic of each of their five numbers."""

    lca: LCASimilarity
    cophenetic: CopheneticSimilarity

    @classmethod
    def of(cls, numbers: Floats) -> "Scores":
        """Take the five numbers in the order of ``PAPERS_FIVE``."""
        five = numbers.tolist()
        return cls(LCASimilarity(*five[: len(LCA)]), CopheneticSimilarity(*five[len(LCA) :]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries."""
        return asdict(self)

    def flat(self) -> dict[str, float]:
        """Return the five numbers by their keys in :mod:`sag_vicreg.scores`."""
        return {
            f"{part}.{name}": value
            for part, numbers in (("lca", self.lca), ("cophenetic", self.cophenetic))
            for name, value in asdict(numbers).items()
        }

    def values(self) -> Floats:
        """Return the five numbers in the order of ``PAPERS_FIVE``."""
        return np.array(list(Scores.flat(self).values()))


@dataclass(frozen=True)
class HalfSamples:
    """Mean and deviation of each score over random halves of the items, and how many there were."""

    mean: Scores
    deviation: Scores
    count: int

    def flat(self) -> dict[str, Spread]:
        """Return the spread of each score by its key."""
        means, deviations = self.mean.flat(), self.deviation.flat()
        return {key: Spread(mean, deviations[key]) for key, mean in means.items()}


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
    reached = np.zeros(len(PAPERS_FIVE), np.int64)

    def lca_numbers(rows: Ints) -> tuple[float, ...]:
        return astuple(similarity_of(joint_table(tree_a, tree_b, lca, rows_of_b=rows)))

    with Workers() as workers:
        batches = blocks(permutations, _TOGETHER)
        for batch in _tracked(batches, "permutations", tree_a.n * permutations):
            orders = [rng.permutation(tree_a.n) for _ in range(batch.start, batch.stop)]
            permuted = np.column_stack(
                [
                    np.array(workers.map(lca_numbers, orders)),
                    cophenetic_correlations(tree_a, tree_b, orders),
                    cophenetic_correlations(tree_b, tree_a, [inverse(order) for order in orders]),
                ]
            )
            # Equal scores that rounding tells apart count as reached.
            reached += (permuted >= observed.values() - 1e-12).sum(axis=0)
    return Scores.of((1 + reached) / (permutations + 1))


def score_half_samples(
    a: Floats, b: Floats, geometry: str, *, lca: str, count: int, seed: int
) -> HalfSamples:
    """Compare random halves of two sets of points, with their trees built anew."""
    n = len(a)
    rng = np.random.default_rng([seed, 1])  # another stream than the permutations'
    found = []
    for number in _tracked(range(count), "half-samples", n * count):
        rows = np.sort(rng.choice(n, n // 2, replace=False))
        one, other = (tree_of_points(points[rows], geometry) for points in (a, b))
        try:
            found.append(score_trees(one, other, lca=lca).values())
        except InputError as error:
            raise InputError(
                f"half-sample {number + 1} of {count}: {error}; leave half-samples out"
            ) from error
    return HalfSamples(
        Scores.of(np.mean(found, axis=0)), Scores.of(np.std(found, axis=0, ddof=1)), count
    )


def _tracked(items: Sequence[Any], what: str, work: int) -> Any:
    """Show a bar where the work is long enough to be waited for."""
    return track(items, what) if work > _QUICK else items

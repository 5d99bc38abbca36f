"""What a comparison of embedding sets found: of two, or of many with one another."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats
from sag_vicreg.errors import unknown_name
from sag_vicreg.scores import COPHENETIC, FOREST, PAPERS_FIVE, measure_of, without_nan
from sag_vicreg.structure.forest import Forest
from sag_vicreg.structure.forest_similarity import ForestSimilarity
from sag_vicreg.structure.similarity import HalfSamples, Scores
from sag_vicreg.structure.tree import Tree

MATRIX_SCORES = {"forest": FOREST, **{measure_of(key).name: key for key in PAPERS_FIVE}}
"""What a matrix of many comparisons may show, by the name it is asked for, and its key."""
# Seen from the other set, one of these is the other.
_MIRRORED = dict(zip(COPHENETIC, reversed(COPHENETIC), strict=True))


@dataclass(frozen=True, eq=False)
class Comparison(Scores):
    """What :func:`compare` found.

    ``forest`` is the score to read first; where it is None, ``forest_left_out`` says why. ``lca``
    and ``cophenetic`` are the paper's five numbers, each of a single pair of trees. ``self_scores``
    are each set's cophenetic score against itself: a reference for the cophenetic scores, no bound.
    ``p_values`` are one-sided, from permuting the rows of the second set; ``half_samples`` is the
    spread over random halves. Both are None unless asked for. ``ties`` counts the merges of each
    tree that had another choice as good; ``seconds`` includes everything.
    """

    forest: ForestSimilarity | None
    forest_left_out: str | None
    self_scores: tuple[float, float]
    geometry: str
    lca_distance: str
    n: int
    dimensions: tuple[int, int]
    ties: tuple[int, int]
    seconds: float
    seed: int
    permutations: int
    p_values: Scores | None
    half_samples: HalfSamples | None
    trees: tuple[Tree, Tree] = field(repr=False)
    forests: tuple[Forest, Forest] | None = field(repr=False)

    @property
    def unstable(self) -> tuple[str, ...]:
        """Which of the paper's five scores half-samples, where there are any, move too far."""
        if self.half_samples is None:
            return ()
        scores = self.flat()
        spreads = self.half_samples.flat().items()
        return tuple(measure_of(k).name for k, spread in spreads if spread.unsettles(scores[k]))

    def flat(self) -> dict[str, float]:
        """Return every score by its key, the forests' among them where there are any."""
        return (self.forest.flat() if self.forest is not None else {}) | super().flat()

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: everything but the trees."""
        return {
            "forest": None if self.forest is None else self.forest.to_dict(),
            "forest_left_out": self.forest_left_out,
            "lca": asdict(self.lca),
            "cophenetic": asdict(self.cophenetic),
            "self_scores": list(self.self_scores),
            "geometry": self.geometry,
            "lca_distance": self.lca_distance,
            "n": self.n,
            "dimensions": list(self.dimensions),
            "ties": list(self.ties),
            "seconds": self.seconds,
            "seed": self.seed,
            "permutations": self.permutations,
            "p_values": None if self.p_values is None else self.p_values.to_dict(),
            "half_samples": None if self.half_samples is None else asdict(self.half_samples),
        }


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Every two of k sets; ``pairs[i, j]`` for i < j."""

    names: tuple[str, ...]
    pairs: dict[tuple[int, int], Comparison]

    def matrix(self, score: str = "forest") -> Floats:
        """Return one score for all pairs, shape (k, k); NaN where there is none.

        ``score`` is one of ``MATRIX_SCORES``. Row i, column j is the comparison of set i with set
        j. Forest and LCA scores are symmetric; ``d1_to_p2`` takes the tree of the row's set and the
        distances of the column's.
        """
        key = _key(score)
        table = self._table(key, Comparison.flat)
        if key in COPHENETIC:
            for pair_of_sets, pair in self.pairs.items():
                table[pair_of_sets, pair_of_sets] = pair.self_scores
        elif not np.isnan(table).all():
            np.fill_diagonal(table, 1.0)
        return table

    def p_values(self, score: str = "forest") -> Floats | None:
        """Return the permutation p-values beside :meth:`matrix`; None where there are none."""
        return None if self.any.p_values is None else self._table(_key(score), _p_values)

    def deviations(self, score: str = "forest") -> Floats | None:
        """Return the deviation over half-samples beside :meth:`matrix`; None where there is none.

        A forest is made of halves already: it has none.
        """
        if self.any.half_samples is None or _key(score) == FOREST:
            return None
        return self._table(_key(score), _deviations)

    @property
    def any(self) -> Comparison:
        """One of the comparisons, to read off what all have in common."""
        return self.pairs[0, 1]

    def _table(self, key: str, of: Callable[[Comparison], Mapping[str, float]]) -> Floats:
        table = np.full((len(self.names), len(self.names)), np.nan)
        for (i, j), pair in self.pairs.items():
            values = of(pair)
            table[i, j] = values.get(key, math.nan)
            table[j, i] = values.get(_MIRRORED.get(key, key), math.nan)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return every matrix, and every pair in full."""
        return {
            "names": list(self.names),
            "matrices": without_nan(
                {score: self.matrix(score).tolist() for score in MATRIX_SCORES}
            ),
            "pairs": [
                {"a": self.names[i], "b": self.names[j], **pair.to_dict()}
                for (i, j), pair in self.pairs.items()
            ],
        }


def _key(score: str) -> str:
    if score not in MATRIX_SCORES:
        raise unknown_name("score", score, MATRIX_SCORES)
    return MATRIX_SCORES[score]


def _p_values(pair: Comparison) -> dict[str, float]:
    found = {} if pair.p_values is None else pair.p_values.flat()
    if pair.forest is not None and pair.forest.p_value is not None:
        found[FOREST] = pair.forest.p_value
    return found


def _deviations(pair: Comparison) -> dict[str, float]:
    return {} if pair.half_samples is None else pair.half_samples.deviation.flat()

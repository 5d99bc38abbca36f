"""The five measures, between a set and what damage made of it."""

from dataclasses import dataclass
from typing import Any

from benchmarks.damage.data import Floats
from sag_vicreg.structure import (
    Forest,
    Tree,
    forest_similarity,
    lca_similarity,
    linear_cka,
    mutual_neighbors,
    rsa,
    ward_forest,
    ward_tree,
)
from sag_vicreg.structure.forest_tables import PLAIN, PairAverages, tabulate

MEASURES = {
    "forest": "forest",
    "single": "single tree",
    "cka": "CKA",
    "rsa": "RSA",
    "overlap": "overlap",
}
"""Names in a record, and on the page."""


@dataclass(frozen=True)
class ForestScores:
    """Corrected and plain Spearman, and where asked for the agreement by share of pairs."""

    corrected: float
    shared: float
    scales: dict[str, float] | None


class Undamaged:
    """A set before the damage, its tree and its forests kept for every comparison."""

    def __init__(self, x: Floats) -> None:
        self.x = x
        self.tree = ward_tree(x)
        self._forests: dict[tuple[int, str], Forest] = {}

    def forest(
        self, vectors: Any, seed: int, *, distance: str = "size", scales: bool = False
    ) -> ForestScores:
        """Compare by forests."""
        if (seed, distance) not in self._forests:
            self._forests = {
                (seed, distance): ward_forest(self.x, distance=distance, seed=seed),
                **{key: kept for key, kept in self._forests.items() if key[0] == seed},
            }
        one = self._forests[seed, distance]
        other = ward_forest(vectors, distance=distance, seed=seed)
        if scales:
            found = forest_similarity(one, other)
            by_scale = {f"{100 * each.share:g} %": each.similarity for each in found.by_scale}
            return ForestScores(found.spearman, found.shared.spearman, by_scale)
        # The same score without its interval, which costs several times as much.
        averages = PairAverages(one, other)
        tables = tabulate(averages, averages.bins())
        return ForestScores(tables.corrected()[0], float(tables.spearman()[PLAIN]), None)

    def others(self, vectors: Any) -> dict[str, float]:
        """Compare by the four other measures."""
        other = ward_tree(vectors)
        a, b = _points(self.tree), _points(other)
        return {
            "single": lca_similarity(self.tree, other).spearman,
            "cka": linear_cka(a, b),
            "rsa": rsa(a, b),
            "overlap": mutual_neighbors(a, b, k=10),
        }


def _points(tree: Tree) -> Floats:
    assert tree.points is not None
    return tree.points

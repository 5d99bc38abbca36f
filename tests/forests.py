"""Drawn hierarchies, and the forest similarity by SciPy and plain loops."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau, pearsonr, spearmanr

from sag_vicreg.structure import Forest

Floats = npt.NDArray[np.float64]


def hierarchy(n: int, *, seed: int, d: int = 16, branches: int = 5, spread: float = 1.0) -> Floats:
    """Draw items of a hierarchy of two levels, ``branches`` clusters of ``branches`` each.

    The hierarchy is always the same; the seed is that of the items.
    """
    source = np.random.default_rng(12)
    tops = 2.0 * source.normal(size=(branches, d))
    centres = np.repeat(tops, branches, axis=0) + source.normal(size=(branches**2, d))
    rng = np.random.default_rng(seed)
    items: Floats = centres[rng.integers(len(centres), size=n)] + spread * rng.normal(size=(n, d))
    return items


def _unit(x: Floats) -> Floats:
    rows: Floats = x / np.linalg.norm(x, axis=1, keepdims=True)
    return rows


LINKAGE: dict[str, Callable[[Floats], Floats]] = {
    "cosine": lambda x: linkage(pdist(x, "cosine"), "ward"),
    "spherical": lambda x: linkage(_unit(x), "ward"),
    "euclidean": lambda x: linkage(x, "ward"),
}


def said_by_tree(x: Floats, geometry: str, distance: str) -> Floats:
    """Return what one tree says of every two rows, merge after merge."""
    m = len(x)
    said, leaves, levels = np.zeros((m, m)), [[i] for i in range(m)], [0] * m
    merges = LINKAGE[geometry](x)
    for rank, (left, right, height, size) in enumerate(merges, start=1):
        i, j = int(left), int(right)
        levels.append(1 + max(levels[i], levels[j]))
        value = {"size": np.log(size), "level": levels[-1], "order": rank, "height": height}
        for here, there in ((i, j), (j, i)):
            said[np.ix_(leaves[here], leaves[there])] = value[distance]
        leaves.append(leaves[i] + leaves[j])
    return said / said.max()


@dataclass(frozen=True)
class Averages:
    """Per pair: sums over the trees of each group, and how many; shape (2, n, n)."""

    sums: Floats
    counts: Floats

    def of(self, group: int | None, pairs: npt.NDArray[np.bool_]) -> Floats:
        """Return the averages over one group of trees, or over all, of some pairs."""
        sums, counts = (
            x.sum(axis=0) if group is None else x[group] for x in (self.sums, self.counts)
        )
        # Sums of the same numbers in another order are the same average.
        return np.round(sums[pairs] / counts[pairs], 12)


def averages(x: Floats, forest: Forest) -> Averages:
    """Average what SciPy's trees of the forest's halves say; only the halves are taken from it."""
    rows, n = x[forest.items], forest.n
    sums, counts = np.zeros((2, n, n)), np.zeros((2, n, n))
    for split, half in enumerate(forest.half):
        for side in (0, 1):
            members = np.flatnonzero(half == side)
            pairs = np.ix_(members, members)
            said = said_by_tree(rows[members], forest.geometry, forest.distance)
            sums[split % 2][pairs] += said
            counts[split % 2][pairs] += 1
    return Averages(sums, counts)


@dataclass(frozen=True)
class Expected:
    """The scores of two forests, by scipy.stats."""

    pearson: float
    spearman: float
    shared: tuple[float, float, float]
    reliability: tuple[float, float]
    missing: int


def expected(a: Averages, b: Averages) -> Expected:
    """Correlate all pairs that both groups of trees hold."""
    n = a.counts.shape[1]
    upper = np.triu(np.ones((n, n), np.bool_), 1)
    pairs = upper & (a.counts > 0).all(axis=0)
    a1, a2, b1, b2 = (x.of(group, pairs) for x in (a, b) for group in (0, 1))
    plain = a.of(None, pairs), b.of(None, pairs)

    def corrected(measure: Callable[..., tuple[float, float]]) -> float:
        across = (measure(a1, b2)[0] + measure(a2, b1)[0]) / 2
        return float(across / np.sqrt(measure(a1, a2)[0] * measure(b1, b2)[0]))

    return Expected(
        corrected(pearsonr),
        corrected(spearmanr),
        (pearsonr(*plain)[0], spearmanr(*plain)[0], kendalltau(*plain)[0]),
        (spearmanr(a1, a2)[0], spearmanr(b1, b2)[0]),
        int(upper.sum() - pairs.sum()),
    )

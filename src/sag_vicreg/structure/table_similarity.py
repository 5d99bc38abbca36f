"""Compare two tables of any size by forests with anchors."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.table_samples import check_lengths
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.scores import without_nan
from sag_vicreg.structure.anchor_neighbors import NEIGHBORS, neighbors_shared
from sag_vicreg.structure.anchored_forest import anchored_forests, part_of_forest
from sag_vicreg.structure.anchors import AnchorPlan, choose_from_both
from sag_vicreg.structure.forest import Forest, check_forest
from sag_vicreg.structure.forest_similarity import ScaleSimilarity, similarity_by_scale
from sag_vicreg.structure.forest_tables import WITHIN_A, WITHIN_B, PairAverages, tabulate
from sag_vicreg.structure.points import check_geometry


@dataclass(frozen=True)
class TableSimilarity:
    """What :func:`compare_tables` found.

    Attributes
    ----------
    spearman, pearson : float
        Corrected forest similarity, the mean over sets of anchors: 1 where nothing that matters
        changed, 0 for unrelated tables.
    interval : (float, float)
        95 percent, of ``spearman``, for other anchors and other trees: Student's t of the sets.
    error : float
        Standard error of ``spearman``, from the spread of the sets.
    by_set : tuple of float
        ``spearman`` of each set of anchors.
    reliability : (float, float)
        Spearman correlation of the two groups of trees of each table.
    by_scale : tuple of ScaleSimilarity
        From the closest pairs to half of all.
    neighbors_shared, neighbors_error : float
        Mean share of anchors' ``neighbors`` nearest items, among all rows, that both tables name;
        and its standard error, for other anchors.
    twice_the_anchors : float
        How far twice the anchors would be expected to move ``spearman``: half as far as the step
        from half of them did, for what depends on their number falls with its inverse.
    n, dimensions, anchors, sets, leaves, trees, distance, geometry, seed, matched_by, seconds
        Rows of the tables, and what was done.
    """

    spearman: float
    pearson: float
    interval: tuple[float, float]
    error: float
    by_set: tuple[float, ...]
    reliability: tuple[float, float]
    by_scale: tuple[ScaleSimilarity, ...]
    neighbors_shared: float
    neighbors_error: float
    neighbors: int
    twice_the_anchors: float
    n: int
    dimensions: tuple[int, int]
    anchors: int
    sets: int
    leaves: int
    trees: int
    distance: str
    geometry: str
    seed: int
    matched_by: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; None stands for NaN."""
        return without_nan(asdict(self))


def compare_tables(
    a: EmbeddingTable,
    b: EmbeddingTable,
    *,
    geometry: str = "cosine",
    distance: str = "size",
    anchors: int = 1_000,
    sets: int = 5,
    leaves: int = 5_000,
    trees: int = 40,
    memory: int | None = None,
    seed: int = 0,
    passes: Passes | None = None,
) -> TableSimilarity:
    """Compare two tables of embeddings of the same items, whatever their size.

    Parameters
    ----------
    a, b
        From :func:`~sag_vicreg.artifacts.open_table`. Rows are matched by id where both have ids,
        in any order, else by position.
    geometry, distance
        As in :func:`~sag_vicreg.structure.ward_forest`.
    anchors, sets, leaves, trees
        Each of ``sets`` sets of ``anchors`` items has ``trees`` trees of ``leaves`` leaves: the
        anchors, and other items drawn from the whole table. Pairs of anchors are scored.
    memory
        Bytes the process may hold in all; None for no limit. The result does not depend on it.
    seed
        Of the choice of items.
    passes
        Where the passes over the tables run; by default on the threads of this process.

    Examples
    --------
    >>> from sag_vicreg.artifacts import open_table
    >>> s = compare_tables(open_table("old/"), open_table("new/"))  # doctest: +SKIP
    >>> s.spearman, s.interval  # doctest: +SKIP
    """
    start = time.perf_counter()
    check_geometry(geometry)
    check_forest(trees=trees, distance=distance)
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")
    by_position = not (a.has_ids and b.has_ids)
    check_lengths([a, b], by_position=by_position)
    plan = AnchorPlan(a.rows, anchors, leaves, trees, sets, seed)
    passes = passes or Passes()
    chosen = choose_from_both(a, b, plan, passes, by_position=by_position)
    # Before the forests, which stay in memory.
    shared = neighbors_shared((a, b), chosen, passes, geometry=geometry, by_position=by_position)
    forests = [
        anchored_forests(table, of, passes, geometry=geometry, distance=distance, memory=memory)
        for table, of in zip((a, b), chosen, strict=True)
    ]
    found = [_Scores.of(one, other) for one, other in zip(*forests, strict=True)]
    spearman = np.array([each.spearman for each in found])
    error = float(spearman.std(ddof=1)) / math.sqrt(sets)
    mean, reach = float(spearman.mean()), _student(sets - 1) * error
    halved = [score for one, other in zip(*forests, strict=True) for score in _halved(one, other)]
    return TableSimilarity(
        spearman=mean,
        pearson=float(np.mean([each.pearson for each in found])),
        interval=(mean - reach, mean + reach),
        error=error,
        by_set=tuple(spearman.tolist()),
        reliability=(
            float(np.mean([each.reliability[0] for each in found])),
            float(np.mean([each.reliability[1] for each in found])),
        ),
        by_scale=_mean_by_scale([each.by_scale for each in found]),
        neighbors_shared=shared[0],
        neighbors_error=shared[1],
        neighbors=NEIGHBORS,
        twice_the_anchors=(mean - float(np.mean(halved))) / 2,
        n=plan.rows,
        dimensions=(a.dimensions, b.dimensions),
        anchors=anchors,
        sets=sets,
        leaves=leaves,
        trees=trees,
        distance=distance,
        geometry=geometry,
        seed=seed,
        matched_by="position" if by_position else "id",
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True)
class _Scores:
    """What one set of anchors says."""

    spearman: float
    pearson: float
    reliability: tuple[float, float]
    by_scale: tuple[ScaleSimilarity, ...]

    @classmethod
    def of(cls, one: Forest, other: Forest) -> "_Scores":
        averages = PairAverages(one, other)
        bins = averages.bins()
        tables = tabulate(averages, bins)
        ranks = tables.spearman()
        if np.isnan(ranks).any():
            side = "first" if np.isnan(ranks[WITHIN_A]) else "second"
            raise InputError(
                f"all pairs meet alike in the trees of the {side} table: there is no similarity"
            )
        spearman, pearson = tables.corrected()
        return cls(
            spearman,
            pearson,
            (float(ranks[WITHIN_A]), float(ranks[WITHIN_B])),
            similarity_by_scale(tables, bins, one),
        )


def _halved(one: Forest, other: Forest) -> list[float]:
    """Score the pairs within each half of the anchors."""
    found = []
    half = one.n // 2
    for first, stop in ((0, half), (half, 2 * half)):
        averages = PairAverages(*(part_of_forest(each, first, stop) for each in (one, other)))
        found.append(tabulate(averages, averages.bins(), plain=False).corrected()[0])
    return found


def _mean_by_scale(found: Sequence[tuple[ScaleSimilarity, ...]]) -> tuple[ScaleSimilarity, ...]:
    """Average scale by scale, where all sets have it."""
    shares = set.intersection(*({each.share for each in one} for one in found))
    scales = []
    for share in sorted(shares):
        same = [each for one in found for each in one if each.share == share]
        sizes = [each.size for each in same if each.size is not None]
        scales.append(
            ScaleSimilarity(
                share,
                float(np.mean(sizes)) if sizes else None,
                float(np.mean([each.similarity for each in same])),
            )
        )
    return tuple(scales)


def _student(freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))

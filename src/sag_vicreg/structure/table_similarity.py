"""Compare two tables of any size by forests with anchors."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.table_samples import check_lengths
from sag_vicreg.passes import Passes
from sag_vicreg.structure.anchor_neighbors import NEIGHBORS, neighbors_shared
from sag_vicreg.structure.anchored_forest import anchored_forests, part_of_forest
from sag_vicreg.structure.anchors import AnchorPlan, choose_from_both
from sag_vicreg.structure.corrected import corrected_score
from sag_vicreg.structure.forest import Forest, check_forest
from sag_vicreg.structure.forest_similarity import (
    CorrectedSimilarity,
    ForestScores,
    ScaleSimilarity,
    scores_of,
)
from sag_vicreg.structure.forest_tables import PairAverages, tabulate
from sag_vicreg.structure.points import check_geometry


@dataclass(frozen=True)
class TableSimilarity(CorrectedSimilarity):
    """What :func:`compare_tables` found: means over sets of anchors.

    Attributes
    ----------
    spearman, pearson : float
        Corrected forest similarity: 1 where nothing that matters changed, 0 for unrelated tables.
    reliability : (float, float)
        Spearman correlation of the two groups of trees of each table.
    by_scale : tuple of ScaleSimilarity
        From the closest pairs to half of all.
    interval : (float, float)
        95 percent, of ``spearman``, for other anchors and other trees: Student's t of the sets.
    error : float
        Standard error of ``spearman``, from the spread of the sets.
    by_set : tuple of float
        ``spearman`` of each set of anchors.
    neighbors_shared, neighbors_error : float
        Mean share of anchors' ``neighbors`` nearest items, among all rows, that both tables name;
        and its standard error, for other anchors.
    twice_the_anchors : float
        How far twice the anchors would be expected to move ``spearman``: half as far as the step
        from half of them did, for what depends on their number falls with its inverse.
    n, dimensions, anchors, sets, leaves, trees, distance, geometry, seed, matched_by, seconds
        Rows of the tables, and what was done.
    """

    by_set: tuple[float, ...]
    neighbors_shared: float
    neighbors_error: float
    neighbors: int
    twice_the_anchors: float
    dimensions: tuple[int, int]
    anchors: int
    sets: int
    geometry: str
    matched_by: str
    seconds: float


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
    check_forest(trees=trees, distance=distance, seed=seed)
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
    pairs = list(zip(*forests, strict=True))
    found = [_scores(one, other) for one, other in pairs]
    spearman = np.array([each.spearman for each in found])
    error = float(spearman.std(ddof=1)) / math.sqrt(sets)
    mean, reach = float(spearman.mean()), float(stdtrit(sets - 1, 0.975)) * error
    reliability = np.mean([each.reliability for each in found], axis=0)
    half = anchors // 2
    halved = [
        corrected_score(*(part_of_forest(forest, first, first + half) for forest in pair))
        for pair in pairs
        for first in (0, half)
    ]
    return TableSimilarity(
        spearman=mean,
        pearson=float(np.mean([each.pearson for each in found])),
        reliability=(float(reliability[0]), float(reliability[1])),
        by_scale=_mean_by_scale([each.by_scale for each in found]),
        interval=(mean - reach, mean + reach),
        error=error,
        by_set=tuple(spearman.tolist()),
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


def _scores(one: Forest, other: Forest) -> ForestScores:
    """Score one set of anchors."""
    averages = PairAverages(one, other)
    bins = averages.bins()
    tables = tabulate(averages, bins)
    return scores_of(tables, tables.spearman(), bins, one, what="table")


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

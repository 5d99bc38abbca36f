"""The corrected forest similarity alone, for those who take it often."""

import math
from typing import Any

from sag_vicreg.errors import InputError
from sag_vicreg.structure.forest import TREES, Forest, ward_forest
from sag_vicreg.structure.forest_tables import PairAverages, tabulate
from sag_vicreg.structure.parallel import Workers


def corrected_similarity(
    a: Any, b: Any, *, trees: int = TREES, geometry: str = "cosine", seed: int = 0
) -> float:
    """Return ``compare(a, b).forest.spearman`` without the interval, which is most of its work.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.random.default_rng(0).normal(size=(60, 4))
    >>> round(corrected_similarity(a, 2 * a), 6)
    1.0
    """
    one, other = (
        ward_forest(x, trees=trees, geometry=geometry, seed=seed, name=name)
        for x, name in ((a, "a"), (b, "b"))
    )
    found = corrected_score(one, other)
    if math.isnan(found):
        raise InputError("the trees of a set do not repeat themselves: there is no similarity")
    return found


def corrected_score(forest_a: Forest, forest_b: Forest, *, workers: Workers | None = None) -> float:
    """Return the corrected Spearman score of two forests over the same halves, and nothing else.

    NaN where the trees of a set do not agree with one another at all.
    """
    averages = PairAverages(forest_a, forest_b)
    return tabulate(averages, averages.bins(), plain=False, workers=workers).corrected()[0]

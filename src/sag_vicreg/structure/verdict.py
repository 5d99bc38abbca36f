"""What a comparison says, in one sentence."""

import math

from sag_vicreg.structure.comparison import Comparison
from sag_vicreg.structure.forest_similarity import CorrectedSimilarity

# Corrected forest similarity from which a phrase holds; the scale is ours, like any such scale.
_PHRASES = (
    (0.98, "agree closely"),
    (0.90, "agree on most of their structure"),
    (0.60, "agree in part"),
    (0.20, "share little structure"),
    (-math.inf, "share next to no structure"),
)
# Below this, the closest one percent of pairs is worth a word of its own.
_FINE, _LOST = 0.01, 0.1
# Reliability below which the score, which is divided by it, comes with a caution.
_UNSURE = 0.3


def verdict(found: Comparison, *, shared_neighbors: float | None = None) -> str:
    """Say how alike two sets are: the forest similarity in words and numbers.

    ``shared_neighbors`` is the share of nearest neighbours both sets have, where it is known.
    """
    forest = found.forest
    neighbors = (
        "" if shared_neighbors is None else f"; {shared_neighbors:.0%} of nearest neighbours shared"
    )
    if forest is None:
        return f"No forest similarity: {found.forest_left_out}{neighbors}"
    return f"{_in_words(forest, 'sets')}{neighbors}"


def table_verdict(found: CorrectedSimilarity) -> str:
    """Say how alike two tables are, as :func:`verdict` does of two sets."""
    return _in_words(found, "tables")


def _in_words(forest: CorrectedSimilarity, what: str) -> str:
    if math.isnan(forest.spearman):
        return f"No forest similarity: the trees of one of the {what} do not repeat themselves"
    # As printed: two scores that read alike must not be called differently.
    phrase = next(words for bound, words in _PHRASES if round(forest.spearman, 2) >= bound)
    low, high = forest.interval
    fine = next((s.similarity for s in forest.by_scale if s.share == _FINE), forest.spearman)
    lost = (
        f", {fine:.2f} among the closest {_FINE:.0%} of pairs"
        if forest.spearman - fine > _LOST
        else ""
    )
    least = min(forest.reliability)
    caution = (
        f"; read with caution, for trees of one and the same {what.removesuffix('s')} agree to "
        f"only {least:.2f}"
        if least < _UNSURE
        else ""
    )
    return (
        f"The {what} {phrase}: forest similarity {forest.spearman:.2f} "
        f"({low:.2f} to {high:.2f}){lost}{caution}"
    )

"""The gate's rule: what a score and its interval say of a threshold, and in which words."""

import math
from dataclasses import dataclass
from typing import Literal

from sag_vicreg.structure import ForestSimilarity

Outcome = Literal["pass", "fail", "undecided"]

# Items worth proposing, as a multiple of those that were compared.
_MOST_MORE = 1_000
# Agreement on the closest 1 percent of pairs below which a pass comes with a word of caution.
_FINE, _FINE_KEPT = 0.01, 0.9
# The 97.5th percentile of the normal distribution.
_NORMAL = 1.96


@dataclass(frozen=True)
class Rule:
    """A threshold, and whether the whole interval has to lie on one side of it or only the score.

    By its interval, a score is tested for non-inferiority; by the score alone, against a floor,
    whose own chance of a false alarm is known.

    The interval is that for other items, or where that is narrower, as among few trees, the one for
    other trees.
    """

    threshold: float
    by_interval: bool

    def outcome(self, found: ForestSimilarity) -> Outcome:
        """Say on which side of the threshold it lies; undecided where there is no number."""
        low, high = self._interval(found) if self.by_interval else (found.spearman,) * 2
        if low >= self.threshold:
            return "pass"
        # A comparison with NaN is false: nothing passes or fails by default.
        return "fail" if high < self.threshold else "undecided"

    def _interval(self, found: ForestSimilarity) -> tuple[float, float]:
        """Return the wider interval; NaN where the trees cannot tell their error."""
        if not self._needs_trees(found):
            return found.interval
        reach = _NORMAL * found.error
        return found.spearman - reach, found.spearman + reach

    def _needs_trees(self, found: ForestSimilarity) -> bool:
        """Whether other trees would move the score further than other items."""
        low, high = found.interval
        return not _NORMAL * found.error <= (high - low) / 2

    def items_needed(self, found: ForestSimilarity) -> int | None:
        """Estimate how many items would decide; None where it is decided, or nothing would.

        The interval narrows with the root of their number.
        """
        half_width = (found.interval[1] - found.interval[0]) / 2
        distance = abs(found.spearman - self.threshold)
        too_close = math.isnan(half_width) or half_width > distance * math.sqrt(_MOST_MORE)
        if too_close or self.outcome(found) != "undecided" or self._needs_trees(found):
            return None
        return math.ceil(found.items * (half_width / distance) ** 2 * 1.1 / 100) * 100

    def reason(self, found: ForestSimilarity) -> str:
        """Say why in one sentence, and what would decide where nothing does."""
        if math.isnan(found.spearman):
            return "no score, as the trees of a set do not repeat themselves: it has no structure."
        low, high = found.interval
        score = f"the forest similarity is {found.spearman:.4f}"
        if self.by_interval:
            score += f" ({low:.4f} to {high:.4f})"
        match self.outcome(found):
            case "pass":
                return f"the structure is kept: {score}, not below {self.threshold:.4f}."
            case "fail":
                return f"the structure has changed: {score}, below {self.threshold:.4f}."
        if self._needs_trees(found):
            moved = "an unknown amount" if math.isnan(found.error) else f"± {found.error:.4f}"
            return (
                f"{score}, but other trees would move it by {moved} (one standard error): "
                f"{found.trees} are too few, raise --trees."
            )
        return f"{score}, on both sides of {self.threshold:.4f}; {self._way_out(found)}."

    def _way_out(self, found: ForestSimilarity) -> str:
        needed = self.items_needed(found)
        if needed is None:
            return "it is too close for any number of items: choose another tolerance"
        if needed > found.n:
            return (
                f"about {needed:,} items would decide and there are {found.n:,}: embed more, or "
                "choose another tolerance"
            )
        return f"about {needed:,} items would decide: raise --items"

    def caution(self, found: ForestSimilarity) -> str:
        """Say what a pass does not; empty where there is nothing to add."""
        fine = next((s.similarity for s in found.by_scale if s.share == _FINE), 1.0)
        if self.outcome(found) != "pass" or fine >= _FINE_KEPT:
            return ""
        return (
            f"Fine structure has changed: agreement on the closest {_FINE:.0%} of pairs is "
            f"{fine:.2f}. The score weighs all pairs alike, and most are far apart."
        )

"""Several evaluations side by side: one group per model, averaged over its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sag_vicreg.evaluation.overall import EvaluationScores
from sag_vicreg.scores import Score, averages, best


@dataclass(frozen=True)
class Group:
    """Evaluations of one model, one per seed."""

    name: str
    members: tuple[EvaluationScores, ...]

    @cached_property
    def averages(self) -> dict[str, Score]:
        """Every score that all members have, by flat key.

        The deviation is over members; of a single one, over its own repetitions.
        """
        found = averages([member.scores() for member in self.members])
        if len(self.members) > 1:
            return found
        own = self.members[0].deviations()
        return {key: replace(score, deviation=own.get(key)) for key, score in found.items()}

    @property
    def scores(self) -> dict[str, float]:
        """The mean of every score."""
        return {key: score.mean for key, score in self.averages.items()}

    @property
    def deviations(self) -> dict[str, float]:
        """The standard deviation (n - 1) of every score that has one."""
        return {key: s.deviation for key, s in self.averages.items() if s.deviation is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return means and deviations as plain values."""
        return {
            "name": self.name,
            "seeds": len(self.members),
            "scores": self.scores,
            "deviations": self.deviations,
        }


def best_groups(groups: Sequence[Group], key: str) -> set[str]:
    """Return the names of the groups with the best mean of a score; none if it has no best."""
    return best({g.name: g.scores[key] for g in groups if key in g.scores}, key)

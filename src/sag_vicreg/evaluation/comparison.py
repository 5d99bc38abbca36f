"""Several evaluations side by side: one group a model, mean and spread over its seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sag_vicreg.evaluation.overall import Evaluation

# Of these, more is better; the label-free measures describe and do not rank.
RANKED = ("knn", "probe", "rand", "ari", "nmi", "class_tree")


# Beside those by level and by number of clusters, what is a score and not a setting.
_SCORES = {
    *("pearson", "spearman", "kendall"),
    *("rankme", "alpha_req", "uniformity", "alignment"),
}


@dataclass(frozen=True)
class Group:
    """Evaluations of one model, one a seed."""

    name: str
    members: tuple[Evaluation, ...]

    def scores(self) -> dict[str, float]:
        """Return the mean of every score that all members have, by dotted name: ``knn.level1``."""
        return {name: float(np.mean(values)) for name, values in self._values().items()}

    def deviations(self) -> dict[str, float]:
        """Return the standard deviation (n - 1) of every score; empty for a single member."""
        if len(self.members) == 1:
            return {}
        return {name: float(np.std(values, ddof=1)) for name, values in self._values().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return means and deviations as plain values."""
        return {
            "name": self.name,
            "seeds": len(self.members),
            "mean": self.scores(),
            "deviation": self.deviations(),
        }

    def _values(self) -> dict[str, list[float]]:
        every = [flat_scores(member) for member in self.members]
        shared = [name for name in every[0] if all(name in scores for scores in every)]
        return {name: [scores[name] for scores in every] for name in shared}


def flat_scores(evaluation: Evaluation) -> dict[str, float]:
    """Return every score of an evaluation by dotted name, without settings."""
    return {
        f"{measure}.{name}": float(value)
        for measure, values in evaluation.to_dict().items()
        if isinstance(values, Mapping)
        for name, value in values.items()
        if value is not None and (name in _SCORES or name.startswith(("level", "clusters")))
    }


def best(groups: Sequence[Group], score: str) -> set[str]:
    """Return the names of the groups with the highest mean of ``score``; none if it has no best."""
    if score.split(".")[0] not in RANKED:
        return set()
    means = {group.name: group.scores().get(score) for group in groups}
    known = [value for value in means.values() if value is not None]
    return {name for name, value in means.items() if known and value == max(known)}

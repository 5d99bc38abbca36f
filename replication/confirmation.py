"""The confirmation of the study: contenders minus a rival, on test images, seed by seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from replication.contenders import CONTENDERS
from replication.findings import PAPERS_SCORES
from replication.measured import Results, measured
from replication.screening import BASELINE, TOLERANCE
from sag_vicreg.artifacts import Result
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce import DECLARATIONS
from sag_vicreg.scores import FOREST, titles

# Whom contenders are compared with: VICReg, the better control by the screening, and the second
# round's baseline.
RIVALS = (BASELINE, "scaled", "vicreg-10")
# Steps to seeds, as docs/study.md has them.
LENGTHS = {3_000: (0, 1, 2, 3, 4), 10_000: (0, 1, 2)}
ACCURACIES = {
    key: f"{group} {heading.lower()}"
    for name, group in (("table4", "k-NN"), ("table5", "probe"))
    for key, heading in DECLARATIONS[name].scores.items()
}
SCORES = {**titles([FOREST], "short"), **PAPERS_SCORES, **ACCURACIES}


@dataclass(frozen=True)
class Difference:
    """A contender minus another in one score after so many steps, seed by seed.

    Accuracies are in percentage points; the paper's five are means over 20 halves of the images.
    """

    name: str
    steps: int
    score: str
    by_seed: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.by_seed.values())

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 percent, by Student's t over seeds; None of a single seed."""
        from scipy.stats import t

        n = len(self.by_seed)
        if n < 2:
            return None
        reach = float(t.ppf(0.975, n - 1)) * stdev(self.by_seed.values()) / math.sqrt(n)
        return self.mean - reach, self.mean + reach

    @property
    def verdict(self) -> str:
        """``above``, ``below``, or ``undecided`` where the interval covers zero."""
        if self.interval is None or self.interval[0] <= 0 <= self.interval[1]:
            return "undecided"
        return "above" if self.mean > 0 else "below"


def scores_on_test(name: str, seed: int, steps: int, results: Results) -> dict[str, float]:
    """Read what is finished of a contender's scores on test images, by the keys of `SCORES`."""
    try:
        mine = measured(name, seed, results, steps=steps)
    except InputError:
        return {}
    found: dict[str, float] = {}
    structure = _ended_well(mine.test)
    if structure is not None:
        found = {key: structure.half_samples[key].mean for key in PAPERS_SCORES}
        found |= {k: v for k, v in structure.scores.items() if k == FOREST}
    levels = [_ended_well(result) for result in mine.levels]
    seen = [result.scores for result in levels if result is not None]
    if len(seen) == len(levels):
        found |= {key: 100 * fmean(each[key] for each in seen) for key in ACCURACIES}
    return found


def _ended_well(result: Result | None) -> Result | None:
    return None if result is None or result.failure is not None else result


def differences(
    results: Results,
    *,
    against: str = BASELINE,
    lengths: Mapping[int, Sequence[int]] = LENGTHS,
) -> list[Difference]:
    """Subtract the scores of ``against`` wherever both are finished, length by length.

    All rows are compared with VICReg, and those of its round with any other rival.
    """
    found = []
    of_all, number = against == BASELINE, CONTENDERS[against].round
    for steps, seeds in lengths.items():
        theirs = {seed: scores_on_test(against, seed, steps, results) for seed in seeds}
        for name, contender in CONTENDERS.items():
            if name in (against, BASELINE) or contender.role == "curve":
                continue
            if not of_all and contender.round != number:
                continue
            ours = {seed: scores_on_test(name, seed, steps, results) for seed in seeds}
            for key in SCORES:
                by_seed = {
                    seed: ours[seed][key] - theirs[seed][key]
                    for seed in seeds
                    if key in ours[seed] and key in theirs[seed]
                }
                if by_seed:
                    found.append(Difference(name, steps, key, by_seed))
    return found


@dataclass(frozen=True)
class GoalState:
    """What is known, by now, of a candidate and the study's goal after so many steps.

    Attributes
    ----------
    worst
        The accuracy in which it lies lowest beside its round's baseline, mean over seeds; None
        before any.
    forests
        Its forest similarity minus a rival's, rival by rival and seed by seed.
    """

    name: str
    steps: int
    worst: Difference | None
    forests: Mapping[str, Mapping[int, float]]

    @property
    def keeps_accuracy(self) -> bool | None:
        """Whether no accuracy lies more than the tolerance below; None before any."""
        return None if self.worst is None else self.worst.mean >= -TOLERANCE


def goal_states(by_rival: Mapping[str, Sequence[Difference]]) -> list[GoalState]:
    """Hold every candidate's differences, rival by rival, against the goal, length by length."""
    states = []
    for steps in LENGTHS:
        for name, contender in CONTENDERS.items():
            if contender.role != "candidate":
                continue
            mine = {
                rival: [d for d in found if (d.name, d.steps) == (name, steps)]
                for rival, found in by_rival.items()
                if CONTENDERS[rival].round == contender.round
            }
            beside_baseline = next(iter(mine.values()), [])
            accuracies = [d for d in beside_baseline if d.score in ACCURACIES]
            forests = {r: d.by_seed for r, ds in mine.items() for d in ds if d.score == FOREST}
            if accuracies or forests:
                worst = min(accuracies, key=lambda d: d.mean, default=None)
                states.append(GoalState(name, steps, worst, forests))
    return states

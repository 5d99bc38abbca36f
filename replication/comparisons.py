"""SAG-VICReg against VICReg, paired by seed, beside the paper's difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replication.stages import (
    DATASET,
    DEFAULT,
    PAIR,
    STEPS,
    TREND_STEPS,
    by_level,
    halves,
)
from sag_vicreg.artifacts import Result
from sag_vicreg.reproduce import (
    DECLARATIONS,
    Evaluation,
    Overrides,
    by_seed,
    finished,
    of_method,
    paper_row,
)

PLAIN, OURS = PAIR
# The tables whose numbers the paper prints for this dataset, and what their scores are called.
STRUCTURE = {"table1": "LCA", "table2": "cophenetic"}
ACCURACY = {"table4": "k-NN", "table5": "linear probe"}


@dataclass(frozen=True)
class Comparison:
    """SAG-VICReg minus VICReg in one score after so many steps: one per seed, and the paper's."""

    steps: int
    score: str
    differences: tuple[float, ...]
    paper: float
    percent: bool = False

    @property
    def mean(self) -> float:
        """The mean difference."""
        return sum(self.differences) / len(self.differences)

    @property
    def seeds_of_its_sign(self) -> int:
        """How many seeds have the mean's sign."""
        return sum(difference * self.mean > 0 for difference in self.differences)

    @property
    def verdict(self) -> str:
        """Whether the sign is the paper's; nothing is said where the seeds differ in it."""
        if self.seeds_of_its_sign < len(self.differences):
            return "undecided"
        return "agrees" if self.mean * self.paper > 0 else "disagrees"


def paired_differences(
    ours: Sequence[Result], theirs: Sequence[Result], score: str
) -> tuple[float, ...]:
    """Subtract ``theirs`` from ``ours``, seed by seed, where both are finished."""
    minuends, subtrahends = by_seed(ours, score), by_seed(theirs, score)
    return tuple(
        minuends[seed] - subtrahends[seed] for seed in sorted(minuends.keys() & subtrahends)
    )


def comparisons(tuned: Overrides, results: Mapping[str, Result]) -> list[Comparison]:
    """Compare wherever a pair of models is finished: tables 1 and 2 by length, then 4 and 5."""
    found = [
        comparison
        for steps in TREND_STEPS
        for comparison in _compare(STRUCTURE, halves(tuned, steps=steps), steps, results)
    ]
    return found + _compare(ACCURACY, by_level(tuned, "levels"), STEPS, results)


def _compare(
    tables: Mapping[str, str],
    evaluations: Sequence[Evaluation],
    steps: int,
    results: Mapping[str, Result],
) -> list[Comparison]:
    done = finished(evaluations, results)
    found = []
    for name, group in tables.items():
        declared = DECLARATIONS[name]
        factor = 100.0 if declared.percent else 1.0
        for place, (key, heading) in enumerate(declared.scores.items()):
            differences = paired_differences(of_method(done, OURS), of_method(done, PLAIN), key)
            if differences:
                scaled = tuple(factor * difference for difference in differences)
                paper = _paper_difference(name, place)
                found.append(
                    Comparison(steps, f"{group} {heading}", scaled, paper, declared.percent)
                )
    return found


def _paper_difference(table: str, place: int) -> float:
    ours, plain = (paper_row(table, DATASET, method) for method in (DEFAULT, PLAIN))
    assert ours is not None
    assert plain is not None
    return ours[place].mean - plain[place].mean

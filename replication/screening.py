"""The screening of the study: what is finished of it, and what its rule says of that.

The rule stands in `docs/study.md` and was written before there was any result: of the candidates
whose k-NN is at most 1 point below VICReg's, the one with the highest corrected forest similarity.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from replication.contenders import CONTENDERS, SCREENED, SEEDS, Contender
from replication.findings import PAPERS_SCORES
from replication.measured import Results, measured
from replication.stages import STEPS
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce import CRITERION
from sag_vicreg.scores import FOREST

BASELINE = "vicreg"
ROUNDS = (1, 2)
TOLERANCE = 1.0
"""Points of k-NN accuracy that a candidate may lie below its round's baseline."""


@dataclass(frozen=True)
class Missing:
    """What is missing of a seed, or why it will stay missing."""

    what: str
    failed: bool = False


@dataclass(frozen=True)
class SeedScores:
    """One seed of a contender: k-NN in percent, forest similarity and its interval, the five."""

    seed: int
    knn: float
    forest: float
    low: float
    high: float
    five: Mapping[str, float]


@dataclass(frozen=True)
class Standing:
    """A contender as far as it is: its finished seeds, what is missing, what stopped itself."""

    name: str
    seeds: tuple[SeedScores, ...]
    missing: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def contender(self) -> Contender:
        """Who it is."""
        return CONTENDERS[self.name]

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do, well or ill."""
        return not self.missing

    @property
    def knn(self) -> float:
        """k-NN in percent, mean over seeds."""
        return fmean(seed.knn for seed in self.seeds)

    @property
    def forest(self) -> float:
        """Corrected forest similarity, mean over seeds."""
        return fmean(seed.forest for seed in self.seeds)

    def over(self, seeds: Collection[int]) -> "Standing | None":
        """Return it over these seeds alone; None where one of them is missing."""
        chosen = tuple(scores for scores in self.seeds if scores.seed in seeds)
        return replace(self, seeds=chosen) if len(chosen) == len(seeds) else None


def seed_scores(
    name: str, seed: int, results: Results, *, steps: int = STEPS
) -> SeedScores | Missing:
    """Read one seed of a contender, or say what is missing of it."""
    try:
        mine = measured(name, seed, results, steps=steps)
    except InputError:
        return Missing("learning-rate search")
    found = [mine.structure, *mine.selection]
    done = [result for result in found if result is not None]
    failure = next((result.failure for result in done if result.failure), None)
    if failure is not None:
        return Missing(f"seed {seed} stopped itself: {failure}", failed=True)
    if len(done) < len(found):
        return Missing(f"seed {seed}")
    structure, *selection = done
    if FOREST not in structure.scores:
        return Missing(f"seed {seed}, its forest")
    return SeedScores(
        seed,
        100 * fmean(result.scores[CRITERION] for result in selection),
        structure.scores[FOREST],
        structure.scores["forest.low"],
        structure.scores["forest.high"],
        {key: structure.half_samples[key].mean for key in PAPERS_SCORES},
    )


def standing(
    name: str, results: Results, *, seeds: Sequence[int] = SEEDS, steps: int = STEPS
) -> Standing:
    """Say how far a contender is and what its finished seeds score."""
    found = [seed_scores(name, seed, results, steps=steps) for seed in seeds]
    gaps = dict.fromkeys(each for each in found if isinstance(each, Missing))
    return Standing(
        name,
        tuple(each for each in found if isinstance(each, SeedScores)),
        tuple(gap.what for gap in gaps if not gap.failed),
        tuple(gap.what for gap in gaps if gap.failed),
    )


def screening(results: Results, number: int = 1) -> list[Standing]:
    """Say how far every row of a round of the screening is."""
    return [standing(name, results) for name in SCREENED if CONTENDERS[name].round == number]


@dataclass(frozen=True)
class Verdict:
    """What the rule says of the rows of a round that can be compared.

    Attributes
    ----------
    seeds
        Those that the baseline has finished; every row below is taken over them.
    baseline
        VICReg, as the round has it.
    ranking
        Candidates that keep the baseline's k-NN, the highest forest similarity first.
    too_low
        Candidates that do not.
    rivals
        The baseline and the controls: what the first has to beat.
    unfinished
        Rows of the screening that could still change any of this.
    """

    seeds: tuple[int, ...]
    baseline: Standing
    ranking: tuple[Standing, ...]
    too_low: tuple[Standing, ...]
    rivals: tuple[Standing, ...]
    unfinished: tuple[Standing, ...]

    @property
    def is_final(self) -> bool:
        """Whether no row is left that could change it."""
        return not self.unfinished

    @property
    def unbeaten(self) -> tuple[Standing, ...]:
        """Rivals whose forest similarity the first does not exceed."""
        first = self.ranking[0].forest if self.ranking else float("-inf")
        return tuple(rival for rival in self.rivals if not first > rival.forest)

    @property
    def awaited(self) -> tuple[Standing, ...]:
        """Controls that the first has not met yet."""
        met = {rival.name for rival in self.rivals}
        return tuple(
            row
            for row in self.unfinished
            if row.contender.role == "control" and row.name not in met
        )


def apply_rule(rows: Iterable[Standing]) -> Verdict | None:
    """Apply the rule to what is finished of a round; None before its baseline is."""
    every = list(rows)
    seeds = tuple(s.seed for row in every if row.contender.role == "baseline" for s in row.seeds)
    if not seeds:
        return None
    compared = [row for each in every if (row := each.over(seeds)) is not None]
    (baseline,) = (row for row in compared if row.contender.role == "baseline")
    candidates = [row for row in compared if row.contender.role == "candidate"]
    keep = [row for row in candidates if row.knn >= baseline.knn - TOLERANCE]
    return Verdict(
        seeds,
        baseline,
        tuple(sorted(keep, key=lambda row: -row.forest)),
        tuple(row for row in candidates if row not in keep),
        tuple(row for row in compared if row.contender.role in ("baseline", "control")),
        tuple(row for row in every if not row.is_finished),
    )

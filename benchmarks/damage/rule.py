"""The rule, declared beforehand, by which another distance would replace ``"size"``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.damage.data import Sample
from benchmarks.damage.measures import Undamaged
from benchmarks.damage.planted import (
    Damaged,
    merged_sets,
    scattered_sets,
    shuffled_sets,
    tightened_sets,
    truth,
)
from sag_vicreg.arrays import Floats
from sag_vicreg.structure import FOREST_DISTANCES, damage

HARMLESS = "harmless"
UNRELATED = "unrelated"


@dataclass(frozen=True)
class Trial:
    """One damaged hierarchy and the forest's score of it by each distance."""

    seed: int
    kind: str
    level: str
    truth: float
    scores: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """What the rule says of one distance."""

    distance: str
    error: float
    correlation: float
    better: int
    good_ends: int
    passes: bool


def measure_distances(sample: Sample, seed: int) -> Iterator[Trial]:
    """Score the rule's damaged versions of one hierarchy by every distance."""
    undamaged = Undamaged(sample.x)
    for each in _damaged_sets(sample, seed):
        vectors = each.make()
        assert sample.paths is not None
        assert each.paths is not None
        yield Trial(
            seed,
            each.kind,
            each.level,
            truth(sample.paths, each.paths()),
            {
                distance: undamaged.forest(vectors, seed, distance=distance).corrected
                for distance in FOREST_DISTANCES
            },
        )


def _damaged_sets(sample: Sample, seed: int) -> Iterator[Damaged]:
    x, paths = sample.x, sample.paths
    assert paths is not None

    def harmless(level: str, vectors: Floats) -> Damaged:
        return Damaged(HARMLESS, level, lambda: vectors, paths=lambda: paths)

    yield harmless("rotation", 3 * damage.rotate(x, seed=seed))
    yield harmless("8 bits", damage.quantise(x, 8))
    yield harmless("noise of 1 %", damage.add_noise(x, 0.01, seed=seed))
    for each in shuffled_sets(sample, seed, (1.0,)):
        yield Damaged(UNRELATED, each.level, each.make, paths=each.paths)
    yield from shuffled_sets(sample, seed, (0.1, 0.25, 0.5))
    yield from scattered_sets(sample, seed, (0.1, 0.2, 0.4))
    yield from merged_sets(sample, seed, (0.1, 0.2, 0.4))
    yield from tightened_sets(sample, seed, (2.0, 4.0))


def verdicts(trials: Sequence[Trial]) -> list[Verdict]:
    """Apply the rule: the first verdict is that of ``"size"``."""
    seeds = sorted({trial.seed for trial in trials})

    def of(distance: str) -> tuple[Floats, Floats, int]:
        errors, correlations, good_ends = [], [], 0
        for seed in seeds:
            mine = [trial for trial in trials if trial.seed == seed]
            ends = [trial for trial in mine if trial.kind in (HARMLESS, UNRELATED)]
            graded = [trial for trial in mine if trial not in ends]
            scores = np.array([trial.scores[distance] for trial in graded])
            truths = np.array([trial.truth for trial in graded])
            errors.append(np.abs(scores - truths).mean())
            correlations.append(rank_correlation(scores, truths))
            good_ends += all(_is_good_end(trial, distance) for trial in ends)
        return np.array(errors), np.array(correlations), good_ends

    size = of("size")
    found = []
    for distance in FOREST_DISTANCES:
        errors, correlations, good_ends = of(distance)
        better = int((errors < size[0]).sum())
        found.append(
            Verdict(
                distance,
                float(errors.mean()),
                float(correlations.mean()),
                better,
                good_ends,
                better >= 0.9 * len(seeds)
                and size[0].mean() - errors.mean() >= 0.02
                and correlations.mean() >= size[1].mean()
                and good_ends >= size[2],
            )
        )
    return found


def chosen(found: Sequence[Verdict]) -> str:
    """Return the distance the rule chooses."""
    passing = [verdict for verdict in found if verdict.passes]
    return min(passing, key=lambda verdict: verdict.error).distance if passing else "size"


def rank_correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


def _is_good_end(trial: Trial, distance: str) -> bool:
    score = trial.scores[distance]
    return abs(score - 1) <= 0.01 if trial.kind == HARMLESS else abs(score) <= 0.02

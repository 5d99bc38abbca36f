"""The stages of the replication, in the order of what matters most.

Every stage lists its evaluations seed by seed, so that an unfinished stage has whole seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sag_vicreg.artifacts import Result
from sag_vicreg.reproduce import (
    DECLARATIONS,
    UNWATCHED,
    Evaluation,
    Overrides,
    Setting,
    evaluation,
    search_evaluations,
    tuned_by,
)

DATASET = "cifar100"
SEEDS = (0, 1, 2)
STEPS = 1_000
TREND_STEPS = (1_000, 3_000, 10_000)
# What was published first is of the paper's literal reading; the default one came of the study.
LITERAL, DEFAULT = "sag-vicreg-literal", "sag-vicreg"
METHODS = ("simclr", "barlow-twins", "vicreg", LITERAL)
PAIR = ("vicreg", LITERAL)
# One factor at a time, each against the CPU recipe (batch, walk_after 0.5, k 5, percentile 20).
UNCHANGED = "CPU recipe"
ABLATIONS = {
    UNCHANGED: (),
    "scale_over neighbors": ("method.scale_over=neighbors",),
    "walk_after 0": ("method.walk_after=0",),
    "k 3": ("method.k=3",),
    "k 10": ("method.k=10",),
    "percentile 50": ("method.percentile=50",),
    "batch 100": ("batch_size=100",),
}

_HALVES = DECLARATIONS["table1"].settings[DATASET]
_ALL = DECLARATIONS["table4"].settings[DATASET]


def _planned(
    kind: str,
    setting: Setting,
    methods: Sequence[str],
    tuned: Overrides,
    overrides: Sequence[str],
) -> list[Evaluation]:
    return [
        evaluation(
            kind,
            setting,
            method,
            scale="cpu",
            seed=seed,
            overrides=[*overrides, UNWATCHED],
            tuned=tuned,
        )
        for seed in SEEDS
        for method in methods
    ]


def halves(tuned: Overrides, *, steps: int, methods: Sequence[str] = PAIR) -> list[Evaluation]:
    """Tables 1 and 2 after so many steps."""
    return _planned("structure", _HALVES, methods, tuned, [f"schedule.steps={steps}"])


def ablation(tuned: Overrides, factor: str) -> list[Evaluation]:
    """SAG-VICReg, read literally, with one factor changed."""
    overrides = [f"schedule.steps={STEPS}", *ABLATIONS[factor]]
    return _planned("structure", _HALVES, [LITERAL], tuned, overrides)


def by_level(tuned: Overrides, kind: str, *, methods: Sequence[str] = METHODS) -> list[Evaluation]:
    """Tables 4 and 5 (``levels``) or the Rand figures (``rand``): models of all classes."""
    return _planned(kind, _ALL, methods, tuned, [f"schedule.steps={STEPS}"])


def _ablations(tuned: Overrides) -> list[Evaluation]:
    planned = [e for factor in ABLATIONS for e in ablation(tuned, factor)]
    return sorted(planned, key=lambda e: e.seed)


def _levels_and_rand(tuned: Overrides) -> list[Evaluation]:
    planned = [*by_level(tuned, "levels"), *by_level(tuned, "rand")]
    return sorted(planned, key=lambda e: e.seed)


def _default(tuned: Overrides) -> list[Evaluation]:
    one = (DEFAULT,)
    planned = [
        *halves(tuned, steps=STEPS, methods=one),
        *by_level(tuned, "levels", methods=one),
        *by_level(tuned, "rand", methods=one),
    ]
    return sorted(planned, key=lambda e: e.seed)


@dataclass(frozen=True)
class Stage:
    """A part of the replication: what it is, and its evaluations given the tuned rates."""

    name: str
    title: str
    evaluations: Callable[[Overrides], list[Evaluation]]


STAGES = {
    stage.name: stage
    for stage in (
        Stage(
            "lr-search",
            "Learning-rate search, 300 steps per trial",
            lambda tuned: search_evaluations(DATASET, METHODS),
        ),
        Stage(
            "halves",
            "Tables 1 and 2, four methods, 1,000 steps, both halves",
            lambda tuned: halves(tuned, steps=STEPS, methods=METHODS),
        ),
        Stage(
            "trend-3000",
            "The trend: SAG-VICReg against VICReg at 3,000 steps",
            lambda tuned: halves(tuned, steps=3_000),
        ),
        Stage("ablation", "Ablation, one factor at a time, 1,000 steps", _ablations),
        Stage(
            "levels",
            "Tables 4 and 5 and the Rand figures, four methods, all classes, 1,000 steps",
            _levels_and_rand,
        ),
        Stage(
            "trend-10000",
            "The trend: SAG-VICReg against VICReg at 10,000 steps",
            lambda tuned: halves(tuned, steps=10_000),
        ),
        Stage("default", "Tables 1, 2, 4 and 5 with the default reading, 1,000 steps", _default),
    )
}

# The stages whose models' embeddings are published: tables 1 and 2, and the trend.
EMBEDDED = ("halves", "trend-3000", "trend-10000", "default")


@dataclass(frozen=True)
class StageState:
    """How far a stage is: its evaluations, and how many of them are done.

    Later stages take the learning rates of the search: before it has ended, their evaluations are
    planned with those of the recipes.
    """

    stage: Stage
    evaluations: list[Evaluation]
    done: int


def stage_states(results: Mapping[str, Result]) -> list[StageState]:
    """State every stage, given the results there are."""
    tuned = tuned_by(results)
    states = []
    for stage in STAGES.values():
        planned = stage.evaluations(tuned)
        states.append(StageState(stage, planned, sum(e.key in results for e in planned)))
    return states

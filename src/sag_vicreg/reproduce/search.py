"""The learning-rate search: the same few rates and the same budget for every method.

A trial is short, on the first half of the classes, and is judged by k-NN among training images
alone; no test image and no score of tables 1 and 2 takes part in the choice.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from sag_vicreg.artifacts import Result
from sag_vicreg.reproduce.declarations import INVARIANCE, ImageSet, Setting, TrainingSet
from sag_vicreg.reproduce.plan import UNWATCHED, Evaluation, Overrides, evaluation

RATES = (0.4, 1.3, 4.0)
TRIAL_STEPS = 300
CRITERION = "knn.level4"


def search_evaluations(
    dataset: str, methods: Sequence[str] = INVARIANCE, overrides: Sequence[str] = ()
) -> list[Evaluation]:
    """All trials of the search at the CPU scale, of recipes as they are or with ``overrides``."""
    setting = Setting(
        "search", dataset, (TrainingSet(dataset, "first"),), ImageSet(dataset, "first", "train")
    )
    return [
        evaluation(
            "selection",
            setting,
            method,
            scale="cpu",
            seed=0,
            overrides=[
                *overrides,
                f"schedule.steps={TRIAL_STEPS}",
                f"optimizer.base_lr={rate}",
                UNWATCHED,
            ],
        )
        for rate in RATES
        for method in methods
    ]


def rate_of(trial: Result) -> float:
    """Return the base learning rate of a trial."""
    return float(trial.models[0]["optimizer"]["base_lr"])


def chosen_rate(
    dataset: str, method: str, results: Mapping[str, Result], overrides: Sequence[str] = ()
) -> float | None:
    """Return the best trial's base learning rate; None until every trial of the method is done."""
    trials = [results.get(e.key) for e in search_evaluations(dataset, [method], overrides)]
    ended_well = [trial for trial in trials if trial is not None and trial.failure is None]
    if None in trials or not ended_well:
        return None
    return rate_of(max(ended_well, key=lambda trial: trial.scores[CRITERION]))


def tuned_by(results: Mapping[str, Result]) -> Overrides:
    """Give each recipe the learning rate its search has chosen, where the search is complete."""

    @cache
    def tuned(dataset: str, method: str) -> Sequence[str]:
        rate = chosen_rate(dataset, method, results)
        return () if rate is None else (f"optimizer.base_lr={rate}",)

    return tuned

"""Made-up results of the study: a contender's search and the measures of one seed."""

from dataclasses import dataclass

from made_results import FIVE, result_of
from replication.contenders import plan, trials
from sag_vicreg.artifacts import Result


@dataclass(frozen=True)
class Scores:
    """k-NN in percent, of both models, and forest similarity; None where none was taken."""

    knn: float
    forest: float | None


def finish_search(name: str, results: dict[str, Result]) -> None:
    """Finish a contender's learning-rate search; 1.3 wins."""
    for trial in trials(name):
        won = trial.recipes[0].optimizer.base_lr == 1.3
        results[trial.key] = result_of(trial, {"knn.level4": 0.3 if won else 0.2})


def finish(
    name: str,
    seed: int,
    scores: Scores | str,
    results: dict[str, Result],
    *,
    steps: int = 1000,
    test: bool = False,
) -> None:
    """Finish one seed of a contender; a text is why its training stopped itself."""
    for planned in plan(name, seed, results, steps=steps).evaluations(test=test):
        if isinstance(scores, str):
            results[planned.key] = result_of(planned, {}, failure=scores)
        elif planned.kind == "structure":
            forest = scores.forest
            ends = {"spearman": 0.0, "low": -0.1, "high": 0.1}
            grown = {} if forest is None else {f"forest.{k}": forest + v for k, v in ends.items()}
            results[planned.key] = result_of(planned, dict.fromkeys(FIVE, 0.3) | grown)
        else:
            accuracy = scores.knn / 100
            by_level = {f"{m}.level{i}": accuracy for m in ("knn", "probe") for i in (1, 2, 3, 4)}
            results[planned.key] = result_of(planned, by_level)

"""Made-up results of the study: a contender's search and the measures of one seed."""

from dataclasses import dataclass, replace

from made_results import FIVE, result_of
from replication.contenders import CONTENDERS, plan, trials
from sag_vicreg.artifacts import Result


@dataclass(frozen=True)
class Scores:
    """k-NN in percent, of both models, and forest similarity; None where none was taken."""

    knn: float
    forest: float | None


def finish_search(name: str, results: dict[str, Result]) -> None:
    """Finish a contender's learning-rate search, of a rejected row VICReg's; 1.3 wins."""
    name = "vicreg" if CONTENDERS[name].rejected else name
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
    # Of a rejected row nothing can be planned: its results are VICReg's with other recipes.
    contender = CONTENDERS[name]
    planned = plan("vicreg" if contender.rejected else name, seed, results, steps=steps)
    for each in planned.evaluations(test=test):
        if isinstance(scores, str):
            made = result_of(each, {}, failure=scores)
        elif each.kind == "structure":
            forest = scores.forest
            ends = {"spearman": 0.0, "low": -0.1, "high": 0.1}
            grown = {} if forest is None else {f"forest.{k}": forest + v for k, v in ends.items()}
            made = result_of(each, dict.fromkeys(FIVE, 0.3) | grown)
        else:
            accuracy = scores.knn / 100
            by_level = {f"{m}.level{i}": accuracy for m in ("knn", "probe") for i in (1, 2, 3, 4)}
            made = result_of(each, by_level)
        if contender.rejected:
            models = [m | {"method": m["method"] | contender.rejected} for m in made.models]
            made = replace(made, key=f"{name} {made.key}", method=contender.method, models=models)
        results[made.key] = made

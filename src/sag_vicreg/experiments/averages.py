"""Results of several seeds: those that are finished, of one method, averaged."""

from collections.abc import Iterable, Mapping, Sequence

from sag_vicreg.artifacts import Result
from sag_vicreg.errors import InputError
from sag_vicreg.experiments.plan import Evaluation
from sag_vicreg.experiments.tables import Score


def finished(evaluations: Iterable[Evaluation], results: Mapping[str, Result]) -> list[Result]:
    """Return the results there are, without those whose training stopped itself."""
    known = [results[e.key] for e in evaluations if e.key in results]
    return [result for result in known if result.failure is None]


def of_method(results: Iterable[Result], method: str) -> list[Result]:
    """Return one method's results."""
    return [result for result in results if result.method == method]


def average(results: Sequence[Result], score: str) -> Score | None:
    """Mean and deviation of one score over seeds; refused for results of different recipes."""
    families = {result.family for result in results}
    if len(families) > 1:
        raise InputError(
            f"results of {len(families)} different recipes or settings cannot be averaged: "
            f"{', '.join(sorted(result.file_name for result in results))}"
        )
    seeds = [result.seed for result in results]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"the same seed twice in one average: seeds {sorted(seeds)}")
    return Score.of([result.scores[score] for result in results if result.failure is None])

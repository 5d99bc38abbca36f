"""What is finished of a contender's two models of one seed, trainable or not."""

from collections.abc import Mapping
from dataclasses import dataclass

from replication.contenders import CONTENDERS, Contender, plan
from replication.stages import STEPS
from sag_vicreg.artifacts import Result
from sag_vicreg.recipes.method_sections import WalkSettings

Results = Mapping[str, Result]
# What recipes say of options that have left the package where they took none of them, and the
# published weight.
_PLAIN = WalkSettings.rejected | {"invariance_weight": 25}


@dataclass(frozen=True)
class Measured:
    """The results behind a :class:`~replication.contenders.Plan`; None where one is missing."""

    structure: Result | None
    selection: tuple[Result | None, ...]
    test: Result | None
    levels: tuple[Result | None, ...]


def measured(name: str, seed: int, results: Results, *, steps: int = STEPS) -> Measured:
    """Find the results of a contender; refuses one whose learning-rate search is unfinished."""
    contender = CONTENDERS[name]
    if contender.rejected:
        return _rejected(contender, seed, results, steps)
    planned = plan(name, seed, results, steps=steps)
    return Measured(
        results.get(planned.structure.key),
        tuple(results.get(each.key) for each in planned.selection),
        results.get(planned.test.key),
        tuple(results.get(each.key) for each in planned.levels),
    )


def _rejected(contender: Contender, seed: int, results: Results, steps: int) -> Measured:
    """Find results by what their recipes say: their addresses cannot be computed any more."""
    mine = [
        result
        for result in results.values()
        if (result.method, result.seed) == (contender.method, seed)
        and result.models[0]["schedule"]["steps"] == steps
        and _departures(result) == contender.rejected
    ]

    def structure(split: str) -> Result | None:
        found = [r for r in mine if (r.kind, r.images["split"]) == ("structure", split)]
        return next((r for r in found if r.options["half_samples"] == 20), None)

    def of_either_model(kind: str) -> tuple[Result | None, ...]:
        trained_on = {r.models[0]["dataset"]["classes"]: r for r in mine if r.kind == kind}
        return trained_on.get("first"), trained_on.get("second")

    return Measured(
        structure("train"),
        of_either_model("selection"),
        structure("test"),
        of_either_model("levels"),
    )


def _departures(result: Result) -> dict[str, object]:
    """Return in what a result's recipe departs from options that are gone, or from the weight."""
    method = result.models[0]["method"]
    return {key: method[key] for key, plain in _PLAIN.items() if method.get(key, plain) != plain}


def is_rejected(result: Result) -> bool:
    """Whether the package cannot build the result's recipes any more."""
    return not _departures(result).keys().isdisjoint(WalkSettings.rejected)

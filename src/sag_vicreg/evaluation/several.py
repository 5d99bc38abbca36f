"""Every input evaluated against one class tree, and those of one name put together."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.comparison import Group
from sag_vicreg.evaluation.inputs import NO_GROUPS, Input, by_name, find_hierarchy
from sag_vicreg.evaluation.overall import Evaluation, evaluate


@dataclass(frozen=True)
class Evaluated:
    """An input, its scores, and what the class tree behind them is called."""

    source: Input
    scores: Evaluation
    hierarchy: str

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and what they are scores of as plain values."""
        test, train = self.source.test, self.source.train
        return {
            "name": self.source.name,
            "hierarchy": self.hierarchy,
            "files": {"test": str(test), "train": None if train is None else str(train)},
            **self.scores.to_dict(),
        }


def evaluate_inputs(
    inputs: Sequence[Input],
    hierarchy: str | None,
    *,
    each: Callable[[Evaluated], None] = lambda done: None,
    warn: Callable[[str], None] = warnings.warn,
    **options: Any,
) -> list[Evaluated]:
    """Evaluate the inputs one after the other.

    Parameters
    ----------
    inputs
        As :func:`~sag_vicreg.evaluation.inputs.open_inputs` finds them.
    hierarchy
        The class tree asked for; None for that of the runs' dataset, or none.
    each
        Told each as soon as it is done.
    warn
        Told what is doubtful about an input, in one line that names its file.
    options
        Of :func:`~sag_vicreg.evaluation.evaluate`.
    """
    sets = [source.read() for source in inputs]
    labels = [part.labels for pair in sets for part in pair if part is not None]
    name, tree = find_hierarchy(hierarchy, inputs, labels)
    if name == NO_GROUPS:
        sets = [(by_name(test), None if train is None else by_name(train)) for test, train in sets]
    done = []
    for source, (test, train) in zip(inputs, sets, strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                scores = evaluate(test, tree, train=train, **options)
            except InputError as error:
                raise InputError(f"{source.test}: {error}") from error
            done.append(Evaluated(source, scores, name))
        for warning in caught:
            warn(f"{source.test}: {warning.message}")
        each(done[-1])
    return done


def grouped(evaluated: Sequence[Evaluated]) -> list[Group]:
    """Put inputs of one name, which are seeds of one model, into one group."""
    names = dict.fromkeys(done.source.name for done in evaluated)
    return [
        Group(name, tuple(done.scores for done in evaluated if done.source.name == name))
        for name in names
    ]

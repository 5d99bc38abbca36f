"""Every input evaluated against one class tree, and those of one name put together."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sag_vicreg.artifacts import Embeddings, join
from sag_vicreg.errors import InputError, visible
from sag_vicreg.evaluation.comparison import Group
from sag_vicreg.evaluation.inputs import NO_GROUPS, Input, by_name, find_hierarchy
from sag_vicreg.evaluation.overall import EvaluationScores, evaluate


@dataclass(frozen=True)
class Evaluated:
    """An input, its scores, and what the class tree behind them is called.

    ``left_out`` of its images other inputs lack; these were not scored.
    """

    source: Input
    scores: EvaluationScores
    hierarchy: str
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what a file of results holds of it."""
        images = {
            part: None if path is None else visible(str(path))
            for part, path in (("test", self.source.test), ("train", self.source.train))
        }
        return asdict(self.scores.result(self.source.name, images=images, hierarchy=self.hierarchy))


def evaluate_inputs(
    inputs: Sequence[Input],
    hierarchy: str | None,
    *,
    each: Callable[[Evaluated], None] = lambda done: None,
    warn: Callable[[str], None] = warnings.warn,
    view: Embeddings | None = None,
    how: str = "exact",
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
    view
        Another view of the images of the only input.
    how
        What to do where the inputs' ids do not agree, as in :func:`~sag_vicreg.artifacts.join`.
    options
        Of :func:`~sag_vicreg.evaluation.evaluate`.
    """
    sets = [source.read() for source in inputs]
    sizes = [len(test) for test, _ in sets]
    sets, view = _same_images(inputs, sets, view, how=how, warn=warn)
    labels = [part.labels for pair in sets for part in pair if part is not None]
    name, tree = find_hierarchy(hierarchy, inputs, labels)
    if name == NO_GROUPS:
        sets = [(by_name(test), None if train is None else by_name(train)) for test, train in sets]
    done = []
    for source, size, (test, train) in zip(inputs, sizes, sets, strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                scores = evaluate(test, tree, train=train, view=view, **options)
            except InputError as error:
                raise InputError(f"{source.test}: {error}") from error
            done.append(Evaluated(source, scores, name, left_out=size - len(test)))
        for warning in caught:
            warn(f"{source.test}: {warning.message}")
        each(done[-1])
    return done


def _same_images(
    inputs: Sequence[Input],
    sets: Sequence[tuple[Embeddings, Embeddings | None]],
    view: Embeddings | None,
    *,
    how: str,
    warn: Callable[[str], None],
) -> tuple[list[tuple[Embeddings, Embeddings | None]], Embeddings | None]:
    """Keep to images that all inputs and the view have; alone, an input is taken as it is."""
    tests = [test for test, _ in sets] + ([] if view is None else [view])
    names = [str(source.test) for source in inputs] + ([] if view is None else ["the view"])
    if len(tests) > 1:
        joined = join(tests, names, how=how)
        if note := joined.note(names):
            warn(note)
            tests = list(joined.sets)
    trains = [train for _, train in sets]
    return list(zip(tests, trains, strict=False)), None if view is None else tests[-1]


def grouped(evaluated: Sequence[Evaluated]) -> list[Group]:
    """Put inputs of one name, which are seeds of one model, into one group."""
    names = dict.fromkeys(done.source.name for done in evaluated)
    return [
        Group(name, tuple(done.scores for done in evaluated if done.source.name == name))
        for name in names
    ]

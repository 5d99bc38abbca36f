"""From results to the printed table of a declaration."""

from collections.abc import Mapping, Sequence

from sag_vicreg.artifacts import Result
from sag_vicreg.experiments.averages import average
from sag_vicreg.experiments.declarations import Declaration, Setting
from sag_vicreg.experiments.paper import paper_row
from sag_vicreg.experiments.tables import Column, Row, Score, Table
from sag_vicreg.recipes import METHOD_LABELS

Finished = Mapping[tuple[str, str], Sequence[Result]]
"""(setting, method) to its finished results, one a seed."""


def assemble(
    declared: Declaration,
    settings: Sequence[Setting],
    methods: Sequence[str],
    finished: Finished,
    *,
    like_the_paper: bool = False,
    notes: Sequence[str] = (),
) -> Table:
    """Average over seeds and lay out; ``like_the_paper`` sets its numbers beside ours.

    That is for the paper's own scale alone: a number from a small backbone and a short training
    beside the paper's would look like a comparison and be none.
    """
    factor = 100.0 if declared.percent else 1.0
    columns = tuple(
        Column(key, heading, setting.heading)
        for setting in settings
        for key, heading in declared.scores.items()
    )
    rows = []
    for method in methods:
        ours: list[Score | None] = []
        paper: list[Score | None] = []
        for setting in settings:
            results = finished.get((setting.name, method), ())
            for key in declared.scores:
                ours.append(_scaled(average(results, key), factor))
            paper += paper_row(declared.name, setting.name, method) or [None] * len(declared.scores)
        beside = tuple(paper) if like_the_paper and any(paper) else ()
        rows.append(Row(method, METHOD_LABELS[method], tuple(ours), beside))
    if declared.evaluation == "rand":
        from sag_vicreg.evaluation.rand import RAND_NOTE

        notes = [*notes, RAND_NOTE]
    return Table(
        declared.name, declared.title, columns, tuple(rows), declared.percent, notes=tuple(notes)
    )


def _scaled(score: Score | None, factor: float) -> Score | None:
    if score is None:
        return None
    deviation = None if score.deviation is None else score.deviation * factor
    return Score(score.mean * factor, deviation, score.runs)

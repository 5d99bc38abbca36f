"""The first thing a reader sees: which sets agree, by how much, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sag_vicreg.report.comparing import Compared
from sag_vicreg.report.lines import ScoreLines
from sag_vicreg.report.points import Points
from sag_vicreg.report.sources import Model
from sag_vicreg.report.tables import Card, PageTable, ScoreRow, number, score_table, written
from sag_vicreg.scores import (
    FOREST,
    NEARBY,
    PAPERS_FIVE,
    Measure,
    at_level,
    closest,
    measure_of,
    titles,
)

# So many comparisons each have their verdict and their cards; of more, the table tells.
FEW = 2
REPRODUCED = (FOREST, "forest.pearson", "forest.shared.spearman")
READ_FOREST = (
    "Forest similarity says whether both put the same {noun}s together, over many trees of "
    "random halves: 1 where nothing that matters changed, 0 for unrelated sets. Coarse splits "
    "dominate it, as most pairs are far apart."
)
NO_FOREST = "These results hold no forest similarity: an earlier version of sag-vicreg wrote them."
READ_SCALES = (
    "Closest 1%: whether the closest 1% of pairs in one set are the closest in the other too, 1 "
    "for all of them, 0 by chance."
)
READ_FIVE = (
    "As in the paper, from one tree of each set. LCA: how high each two {noun}s meet in either "
    "tree. Cophenetic: merge heights in one tree against distances in the other set."
)
UNSEEN = "Structure kept on unseen classes"
TRAINED_TWICE = (
    "Each method was trained twice, on either half of the classes; both models embed the same "
    "images. The more alike their structure, the better the method organises classes it never saw."
)


@dataclass(frozen=True)
class Finding:
    """What was found, in words and in cards; ``name`` says of which pair where there are more."""

    name: str
    verdict: str
    cards: tuple[Card, ...] = ()


@dataclass(frozen=True)
class Headline:
    """Title, what is compared, findings, how to read them, and tables for those who doubt."""

    title: str = ""
    intro: str = ""
    findings: tuple[Finding, ...] = ()
    about: str = ""
    tables: tuple[PageTable, ...] = ()


def structure_headline(
    compared: Sequence[Compared],
    measures: Sequence[Measure] = (),
    *,
    halves: bool,
    half_samples: int,
    noun: str,
) -> Headline:
    """Verdict and cards of each of a few comparisons, then tables of all.

    ``measures`` of other packages have a table of their own.
    """
    several = len(compared) > 1
    rows = [each.row for each in compared if each.row.scores]
    if len(compared) <= FEW:
        findings = [
            Finding(each.row.name if several else "", f"{each.verdict}.", each.cards)
            for each in compared
        ]
    else:
        without = [each for each in compared if FOREST not in each.row.scores]
        # Where none has a forest similarity, all lack it for one reason.
        shown = without if len(without) < len(compared) else without[:1]
        findings = [
            Finding("", _extremes(rows)),
            *(Finding(each.row.name, f"{each.verdict}.") for each in shown),
        ]
    corner = "Method" if halves else "Models"
    tables = []
    # The closest pairs first.
    scales = {
        key: f"Closest {percents:g}%"
        for percents, key in closest(key for row in rows for key in row.scores).items()
    }
    # One pair's other numbers are on its cards.
    every = {**titles([FOREST], "title"), **scales, **titles(NEARBY, "title")}
    if columns := _present(every, rows) if several else scales:
        title = "Forests, from fine to coarse" if scales else "Neighbours and directions"
        interval = "Below a forest similarity, its 95% interval." if several else ""
        note = f"{READ_SCALES} {interval}" if scales else ""
        tables.append(score_table(rows, columns, title=title, note=note, corner=corner))
    if rows and measures:
        own = {each.key: each.short for each in measures}
        note = " ".join(each.caveat for each in measures)
        tables.append(
            score_table(rows, own, title="Measures of other packages", note=note, corner=corner)
        )
    if rows:
        halved = f"{half_samples} random halves of the {noun}s"
        tables.append(_five(rows, noun=noun, corner=corner, halves=halved))
    return Headline(
        UNSEEN if halves else "How alike they are",
        TRAINED_TWICE if halves else "",
        tuple(findings),
        READ_FOREST.format(noun=noun) if scales else "",
        tuple(tables),
    )


def _present(columns: Mapping[str, str], rows: Sequence[ScoreRow]) -> dict[str, str]:
    return {key: title for key, title in columns.items() if any(key in row.scores for row in rows)}


def _extremes(rows: Sequence[ScoreRow]) -> str:
    """Say which are the most and the least alike."""
    known = sorted((row for row in rows if FOREST in row.scores), key=lambda r: r.scores[FOREST])
    if not known:
        return "There is no forest similarity."
    least, most = (f"{row.name}, {number(row.scores[FOREST])}" for row in (known[0], known[-1]))
    if len(known) == 1:
        return f"Forest similarity: {most}."
    return f"Most alike by forest similarity: {most}. Least: {least}."


def _five(
    rows: Sequence[ScoreRow],
    *,
    noun: str,
    corner: str,
    halves: str,
    title: str = "The paper’s five numbers",
    notes: Sequence[str] = (),
) -> PageTable:
    """Lay the paper's scores out; ``halves`` says which halves of the rows there are."""
    said = [READ_FIVE.format(noun=noun)]
    if any(row.notes for row in rows):
        said.append("Self-score: the tree against the distances of its own set.")
    if any(row.halves for row in rows):
        said.append(f"Halves: mean ± deviation over {halves}; spread and not confidence.")
    note = " ".join(filter(None, [*said, *notes]))
    return score_table(rows, titles(PAPERS_FIVE, "short"), title=title, note=note, corner=corner)


def reproduction_headline(found: ScoreLines) -> Headline | None:
    """Show the structure scores of a reproduction, averaged over its seeds."""
    rows = [line for line in found.lines if {FOREST, *PAPERS_FIVE} & line.scores.keys()]
    if not rows:
        return None
    over_seeds = "± is the deviation over seeds." if any(row.deviations for row in rows) else ""
    has_forest = any(FOREST in row.scores for row in rows)
    five = _five(
        rows,
        noun="image",
        corner="Method",
        halves="random halves of the images, averaged over seeds",
        title="The paper’s five numbers, mean over seeds",
        notes=[over_seeds, "" if has_forest else found.common],
    )
    if not has_forest:
        return Headline(UNSEEN, about=NO_FOREST, tables=(five,))
    alone = any("forest.low" in row.scores and FOREST not in row.deviations for row in rows)
    interval = "With one seed, its 95% interval stands below." if alone else ""
    forests = score_table(
        rows,
        _present(titles(REPRODUCED, "title"), rows),
        title="Forest similarity, mean over seeds",
        note=" ".join(filter(None, [over_seeds, interval, found.common])),
        corner="Method",
    )
    return Headline(
        UNSEEN,
        findings=(Finding("", _extremes(rows)),),
        about=READ_FOREST.format(noun="image"),
        tables=(forests, five),
    )


def run_headline(model: Model, points: Points | None, *, named: bool) -> Headline:
    """One run, ``named`` where there are others: what it ended with."""
    scores = {} if model.results is None else model.results.scores
    cards = [
        Card(measure_of(key).short + where, written(key, scores[key]))
        for key, where in ((at_level("knn", 1), ", coarsest level"), ("label_free.rankme", ""))
        if key in scores
    ]
    for key, label in (("loss", "Final loss"), ("nontrivial", "Non-trivial pairs")):
        logged = model.metrics.get(key, np.empty(0))
        if len(known := logged[np.isfinite(logged)]):
            last = float(known[-1])
            cards.append(Card(label, f"{last:.0%}" if key == "nontrivial" else number(last)))
    if points is not None:
        rows, dimensions = points.vectors[0].shape
        cards.append(Card(f"{points.noun.capitalize()}s", f"{rows:,}", f"{dimensions} dimensions"))
    finding = Finding(model.name if named else "", "", tuple(cards))
    return Headline("At a glance", findings=(finding,))

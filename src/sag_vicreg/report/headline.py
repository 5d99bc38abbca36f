"""The first thing a reader sees: which sets agree, by how much, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sag_vicreg.report.comparing import Compared
from sag_vicreg.report.lines import ScoreLines
from sag_vicreg.report.points import Points
from sag_vicreg.report.sources import Model
from sag_vicreg.report.tables import Card, PageTable, ScoreRow, number, score_table, written
from sag_vicreg.scores import FOREST, NEARBY, PAPERS_FIVE, at_level, closest, measure_of, titles

# So many comparisons each have their verdict and their cards; of more, the table tells.
FEW = 2
REPRODUCED = (FOREST, "forest.pearson", "forest.shared.spearman")
READ_FOREST = (
    "Forest similarity says whether both put the same {noun}s together, over many trees of "
    "random halves: 1 where nothing that matters changed, 0 for unrelated sets. Coarse splits "
    "dominate it, as most pairs are far apart."
)
READ_FIVE = (
    "As in the paper, from one tree of each set. LCA: how high each two {noun}s meet in either "
    "tree. Cophenetic: merge heights in one tree against distances in the other set."
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

    title: str
    intro: str
    findings: tuple[Finding, ...]
    about: str = ""
    tables: tuple[PageTable, ...] = ()


def structure_headline(
    rows: Sequence[Compared], *, halves: bool, half_samples: int, noun: str
) -> Headline:
    """Verdict and cards of each of a few comparisons, then tables of all."""
    several = len(rows) > 1
    scores = [row.scores for row in rows if row.scores.values]
    if len(rows) <= FEW:
        name = "{}" if several else ""
        findings = [Finding(name.format(row.name), f"{row.verdict}.", row.cards) for row in rows]
    else:
        findings = [Finding("", _extremes(scores))]
        without = [row for row in rows if FOREST not in row.scores.values]
        # Where none has a forest similarity, all lack it for one reason.
        shown = without if len(without) < len(rows) else without[:1]
        findings += [Finding(row.name, f"{row.verdict}.") for row in shown]
    corner = "Method" if halves else "Models"
    tables = []
    scales = _scales(scores)
    # One pair's other numbers are on its cards.
    every = {**titles([FOREST], "title"), **scales, **titles(NEARBY, "title")}
    if columns := _present(every, scores) if several else scales:
        fine = (
            "Closest 1%: whether the closest 1% of pairs in one set are the closest in the other "
            "too, 1 for all of them, 0 by chance. "
            if scales
            else ""
        )
        interval = "Below a forest similarity, its 95% interval." if several and scales else ""
        tables.append(
            score_table(
                scores,
                columns,
                title="Forests, from fine to coarse" if scales else "Neighbours and directions",
                note=fine + interval,
                corner=corner,
            )
        )
    if scores:
        halved = f"{half_samples} random halves of the {noun}s"
        tables.append(_five(scores, noun=noun, corner=corner, halves=halved))
    intro = (
        "Each method was trained twice, on either half of the classes; both models embed the same "
        "images. The more alike their structure, the better the method organises classes it never "
        "saw."
        if halves
        else ""
    )
    title = "Structure kept on unseen classes" if halves else "How alike they are"
    about = READ_FOREST.format(noun=noun) if scales else ""
    return Headline(title, intro, tuple(findings), about, tuple(tables))


def _present(columns: Mapping[str, str], rows: Sequence[ScoreRow]) -> dict[str, str]:
    return {key: title for key, title in columns.items() if any(key in row.values for row in rows)}


def _scales(rows: Sequence[ScoreRow]) -> dict[str, str]:
    """Name the columns of the similarity by scale, the closest pairs first."""
    every = closest(key for row in rows for key in row.values)
    return {key: f"Closest {percents:g}%" for percents, key in every.items()}


def _extremes(rows: Sequence[ScoreRow]) -> str:
    """Say which are the most and the least alike."""
    known = sorted((row for row in rows if FOREST in row.values), key=lambda r: r.values[FOREST])
    if not known:
        return "There is no forest similarity."
    least, most = (f"{row.name}, {number(row.values[FOREST])}" for row in (known[0], known[-1]))
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
    rows = [
        ScoreRow(line.name, line.scores, line.deviations, line.halves)
        for line in found.lines
        if {FOREST, *PAPERS_FIVE} & line.scores.keys()
    ]
    if not rows:
        return None
    over_seeds = "± is the deviation over seeds." if any(row.deviations for row in rows) else ""
    tables = []
    has_forest = any(FOREST in row.values for row in rows)
    if has_forest:
        notes = [over_seeds]
        if any("forest.low" in row.values and FOREST not in row.deviations for row in rows):
            notes.append("With one seed, its 95% interval stands below.")
        tables.append(
            score_table(
                rows,
                _present(titles(REPRODUCED, "title"), rows),
                title="Forest similarity, mean over seeds",
                note=" ".join(filter(None, [*notes, found.common])),
                corner="Method",
            )
        )
    tables.append(
        _five(
            rows,
            noun="image",
            corner="Method",
            halves="random halves of the images, averaged over seeds",
            title="The paper’s five numbers, mean over seeds",
            notes=[over_seeds, "" if has_forest else found.common],
        )
    )
    findings = (Finding("", _extremes(rows)),) if has_forest else ()
    about = (
        READ_FOREST.format(noun="image")
        if has_forest
        else "These results hold no forest similarity: an earlier version of sag-vicreg wrote them."
    )
    return Headline("Structure kept on unseen classes", "", findings, about, tuple(tables))


def run_headline(model: Model, points: Points | None) -> Headline:
    """One run: what it ended with."""
    cards = []
    scores = {} if model.results is None else model.results.scores
    for key, where in ((at_level("knn", 1), ", coarsest level"), ("label_free.rankme", "")):
        if key in scores:
            cards.append(Card(measure_of(key).short + where, written(key, scores[key])))
    logged = {"loss": "Final loss", "nontrivial": "Non-trivial pairs"}
    for key, label in logged.items():
        column = model.metrics.get(key)
        if column is not None and np.isfinite(column).any():
            last = float(column[np.isfinite(column)][-1])
            cards.append(Card(label, f"{last:.0%}" if key == "nontrivial" else number(last)))
    if points is not None:
        cards.append(
            Card(
                f"{points.noun.capitalize()}s",
                f"{len(points):,}",
                note=f"{points.vectors[0].shape[1]} dimensions",
            )
        )
    return Headline("At a glance", "", (Finding("", "", tuple(cards)),))

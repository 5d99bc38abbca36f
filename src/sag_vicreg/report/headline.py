"""The first thing a reader sees: which sets agree, by how much, and how sure that is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sag_vicreg.artifacts import Spread
from sag_vicreg.errors import InputError
from sag_vicreg.progress import track
from sag_vicreg.report.lines import ScoreLines, flatten
from sag_vicreg.report.points import Points
from sag_vicreg.report.sources import Model
from sag_vicreg.report.tables import (
    FAR,
    STRUCTURE,
    Card,
    Scores,
    Table,
    is_far,
    number,
    of_halves,
    score_table,
)
from sag_vicreg.structure import compare

MOST_PAIRS = 15
FEWEST_FOR_HALVES = 6


@dataclass(frozen=True)
class Headline:
    """Title, a sentence on how to read it, cards and tables."""

    title: str
    about: str
    cards: tuple[Card, ...]
    tables: tuple[Table, ...]


def half_pairs(models: Sequence[Model]) -> dict[str, tuple[int, int]]:
    """Find runs that differ only in which half of the classes they saw, by the name of both."""
    halves: dict[str, dict[str, int]] = defaultdict(dict)
    names: dict[str, str] = {}
    for place, model in enumerate(models):
        if model.recipe is None or model.recipe.dataset.classes not in ("first", "second"):
            continue
        half = str(model.recipe.dataset.classes)
        dataset = model.recipe.dataset.model_copy(update={"classes": "all"})
        key = model.recipe.model_copy(update={"dataset": dataset}).digest()
        halves[key][half] = place
        names[key] = model.name.replace(f", {half} half", "")
    return {
        names[key]: (places["first"], places["second"])
        for key, places in halves.items()
        if len(places) == 2
    }


def model_pairs(models: Sequence[Model]) -> dict[str, tuple[int, int]]:
    """Pair the halves of each method, or every two models where there are no halves."""
    pairs = half_pairs(models)
    if not pairs:
        pairs = {
            f"{models[a].name} and {models[b].name}": (a, b)
            for a in range(len(models))
            for b in range(a + 1, len(models))
        }
    return dict(list(pairs.items())[:MOST_PAIRS])


def compare_models(
    points: Points, pairs: Mapping[str, tuple[int, int]], *, half_samples: int, seed: int
) -> list[Scores]:
    """Compare the trees of each pair of models."""
    rows = []
    for name, (a, b) in track(list(pairs.items()), "comparing trees"):
        try:
            found = compare(
                points.vectors[a],
                points.vectors[b],
                half_samples=half_samples if len(points) >= FEWEST_FOR_HALVES else 0,
                seed=seed,
                names=(points.models[a].name, points.models[b].name),
            )
        except InputError as error:
            # Constant or zero vectors have no correlation; the rest of the page can still be shown.
            rows.append(Scores(name, {}, problem=str(error)))
            continue
        halves: dict[str, Spread] = {}
        if (spread := found.half_samples) is not None:
            means, deviations = spread.mean.values().tolist(), spread.deviation.values().tolist()
            halves = dict(zip(STRUCTURE, map(Spread, means, deviations), strict=True))
        values = dict(zip(STRUCTURE, found.values().tolist(), strict=True))
        rows.append(Scores(name, values, halves=halves))
    return rows


def how_to_read(noun: str) -> str:
    """Explain the five scores."""
    return (
        "Scores are correlations, at most 1, and use no labels: LCA similarity is between the "
        f"places where each two {noun}s meet in either tree, cophenetic similarity between merge "
        "heights in one tree and distances in the other set."
    )


def structure_headline(
    rows: Sequence[Scores], *, halves: bool, half_samples: int, noun: str
) -> Headline:
    """Cards for one or two comparisons, a table for all."""
    spread = (
        f"Halves: mean ± deviation over {half_samples} random halves of the {noun}s; spread, not "
        "a confidence interval."
        if any(row.halves for row in rows)
        else ""
    )
    keys = list(STRUCTURE) if len(rows) == 1 else ["lca.pearson", "cophenetic.d1_to_p2"]
    cards = []
    if len(rows) <= 2:
        cards = [
            Card(
                STRUCTURE[key] if len(rows) == 1 else f"{row.name}: {STRUCTURE[key]}",
                number(row.values[key]),
                note=_halves_note(row, key),
            )
            for key in keys
            for row in rows
            if key in row.values
        ]
    table = score_table(
        rows,
        STRUCTURE,
        title="Trained on these classes, against trained on the others" if halves else "Trees",
        note=spread,
        corner="Method" if halves else "Models",
    )
    problems = [f"{row.name}: not compared, {row.problem}." for row in rows if row.problem]
    about = " ".join([how_to_read(noun), *problems])
    if halves:
        about = (
            "Each method was trained twice, on either half of the classes; both models embed the "
            "same images. The more alike their trees, the better the method organises classes it "
            "never saw. " + about
        )
    if len(rows) == 1 and not halves:
        return Headline("How alike they are", f"{about} {spread}", tuple(cards), ())
    title = "Structure kept on unseen classes" if halves else "How alike they are"
    return Headline(title, about, tuple(cards), (table,))


def _halves_note(row: Scores, key: str) -> str:
    halves = row.halves.get(key)
    far = f"; {FAR}" if is_far(row.values[key], halves) else ""
    return f"{of_halves(halves)}{far}"


def reproduction_headline(found: ScoreLines) -> Headline | None:
    """Show the structure scores of a reproduction, averaged over its seeds."""
    rows = [
        Scores(line.name, line.scores, line.spreads, line.halves)
        for line in found.lines
        if STRUCTURE.keys() & line.scores.keys()
    ]
    if not rows:
        return None
    notes = []
    if any(row.spreads for row in rows):
        notes.append("± is the deviation over seeds.")
    if any(row.halves for row in rows):
        notes.append("With one seed, halves: mean ± deviation over random halves of the images.")
    if found.common:
        notes.append(found.common)
    table = score_table(
        rows, STRUCTURE, title="Mean over seeds", note=" ".join(notes), corner="Method"
    )
    return Headline("Structure kept on unseen classes", how_to_read("image"), (), (table,))


def run_headline(model: Model, points: Points | None) -> Headline:
    """One run: what it ended with."""
    cards = []
    scores = flatten(model.results or {})
    for key, label in (
        ("knn.level1", "k-NN, coarsest level"),
        ("label_free.rankme", "RankMe"),
    ):
        if key in scores:
            cards.append(Card(label, number(scores[key])))
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
    return Headline("At a glance", "", tuple(cards), ())

"""Which models of a page are compared with one another, and what came out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from sag_vicreg.errors import InputError
from sag_vicreg.progress import track
from sag_vicreg.report.points import Points
from sag_vicreg.report.sources import Model
from sag_vicreg.report.tables import Card, ScoreRow, interval_of, number, written
from sag_vicreg.scores import COPHENETIC, FOREST, OwnMeasure, at_closest, measure_of
from sag_vicreg.structure import (
    Comparison,
    Movements,
    compare,
    movements,
    neighborhood,
    verdict,
)
from sag_vicreg.structure.comparing import FEWEST_FOR_HALVES

MOST_PAIRS = 15


@dataclass(frozen=True)
class Compared:
    """Two models: their scores for tables, and what they say first."""

    row: ScoreRow
    verdict: str
    cards: tuple[Card, ...] = ()
    moved: Movements | None = None
    """Of the first pair, which the page opens with."""


def half_pairs(models: Sequence[Model]) -> dict[str, tuple[int, int]]:
    """Find runs that differ only in which half of the classes they saw, by the name of both."""
    halves: dict[str, dict[str, int]] = defaultdict(dict)
    for place, model in enumerate(models):
        if model.recipe is not None and model.recipe.dataset.classes in ("first", "second"):
            dataset = model.recipe.dataset.model_copy(update={"classes": "all"})
            recipe = model.recipe.model_copy(update={"dataset": dataset})
            halves[recipe.digest()][str(model.recipe.dataset.classes)] = place
    return {
        models[places["first"]].name.replace(", first half", ""): (
            places["first"],
            places["second"],
        )
        for places in halves.values()
        if len(places) == 2
    }


def model_pairs(models: Sequence[Model]) -> dict[str, tuple[int, int]]:
    """Pair the halves of each method, or every two models where there are no halves."""
    pairs = half_pairs(models) or {
        f"{models[a].name} and {models[b].name}": (a, b)
        for a, b in combinations(range(len(models)), 2)
    }
    return dict(islice(pairs.items(), MOST_PAIRS))


def compare_models(
    points: Points,
    pairs: Mapping[str, tuple[int, int]],
    measures: Sequence[OwnMeasure] = (),
    *,
    trees: int,
    half_samples: int,
    seed: int,
) -> list[Compared]:
    """Compare each pair of models: forests, neighbours, CKA and the paper's five numbers.

    ``measures`` of other packages come with them.
    """
    rows = []
    for name, (a, b) in track(list(pairs.items()), "comparing models"):
        try:
            found = compare(
                points.vectors[a],
                points.vectors[b],
                trees=trees,
                half_samples=half_samples if len(points) >= FEWEST_FOR_HALVES else 0,
                seed=seed,
                names=(points.models[a].name, points.models[b].name),
            )
        except InputError as error:
            # Constant or zero vectors have no correlation; the rest of the page can still be shown.
            remark = f"Not compared here, in cosine geometry: {error}"
            rows.append(Compared(ScoreRow(name, {}), remark))
        else:
            moved = movements(*found.forests) if not rows and found.forests else None
            own = {
                each.key: each.score_pair(points.vectors[a], points.vectors[b]) for each in measures
            }
            rows.append(_compared(name, found, own, points.noun, moved))
    return rows


def _compared(
    name: str,
    found: Comparison,
    own: Mapping[str, float],
    noun: str,
    moved: Movements | None,
) -> Compared:
    near = neighborhood(*found.trees)
    values = {**found.flat(), "cka": near.cka, **own}
    if near.shared is not None:
        values["neighbors.shared"] = near.shared
    if found.forest is not None and FOREST in values:
        values |= {at_closest(scale.share): scale.similarity for scale in found.forest.by_scale}
    selves = [f"self-score: {number(value)}" for value in found.self_scores]
    row = ScoreRow(
        name,
        values,
        halves={} if found.half_samples is None else found.half_samples.flat(),
        notes=dict(zip(COPHENETIC, selves, strict=True)),
    )
    notes = {
        FOREST: f"{interval_of(row)} (95%)",
        "neighbors.shared": f"of each {noun}’s {near.neighbors} nearest",
        "cka": "mostly the largest directions",
    }
    cards = tuple(
        Card(measure_of(key).title, written(key, values[key]), note)
        for key, note in notes.items()
        if key in values
    )
    return Compared(row, verdict(found, shared_neighbors=near.shared), cards, moved)

"""Partners that the labels choose: how far better neighbours could take a walk.

Few partners of a walk are of the image's own class. Here all of them are, as labels say who that
is, which no method may ask. `docs/study.md` has the rule and the numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from replication.contenders import CONTENDERS, plan
from replication.measured import Results
from replication.references import ReferencePoint, Sets, Wanted, embedded_by
from replication.screening import Standing, standing
from replication.stages import STEPS
from sag_vicreg.reproduce import Store


@dataclass(frozen=True)
class Row:
    """How many rows are paired with a classmate, and how heavy such a pair is.

    ``base`` is the contender whose recipe is taken, all but who the partners are. The classmate is
    any, or the ``nearest`` around the own view.
    """

    title: str
    base: str
    share: float
    weight: float
    nearest: bool = False


RIVAL = "vicreg-10"
ROWS = {
    # Share and weight of the walk around the own view: docs/method.md has its arithmetic.
    "as-walk": Row("by label, as many and as heavy as the walk's", "own-view-10", 0.286, 0.169),
    "half": Row("by label, half of the rows, weight 1", RIVAL, 0.5, 1.0),
    "nearest": Row("by label, the nearest, half of the rows, weight 1", RIVAL, 0.5, 1.0, True),
}
_KIND = "class-pairs-"


def class_pair_points(
    names: Sequence[str], store: Store, results: Results, *, seeds: Sequence[int], steps: int
) -> Iterator[Wanted]:
    """List the points of these rows, whose models are trained when they are measured."""
    for seed in seeds:
        for name in names:
            yield _KIND + name, str(steps), seed, partial(_train, name, seed, steps, store, results)


def _train(name: str, seed: int, steps: int, store: Store, results: Results) -> list[Sets]:
    from replication.class_pairs import train_on_classes

    row = ROWS[name]
    halves = plan(row.base, seed, results, steps=steps).recipes
    folders = (store.root / "class-pairs" / f"{name}-{recipe.digest()}" for recipe in halves)
    return [
        embedded_by(train_on_classes(recipe, folder, row).embed)
        for recipe, folder in zip(halves, folders, strict=True)
    ]


def class_pair_tables(points: Sequence[ReferencePoint], results: Results) -> list[str]:
    """Set what is finished beside the rows whose recipes it takes, length by length."""
    mine = [point for point in points if point.kind.startswith(_KIND)]
    return [
        _table(steps, [point for point in mine if point.detail == str(steps)], results)
        for steps in sorted({int(point.detail) for point in mine})
    ]


def class_pair_places(
    points: Sequence[ReferencePoint],
) -> list[tuple[str, tuple[float, float], tuple[()]]]:
    """Return the mean k-NN and forest similarity of every row and length, for the picture.

    As there, places of the screening's length have no label.
    """
    found: dict[tuple[str, str], list[ReferencePoint]] = {}
    for point in points:
        if point.kind.startswith(_KIND):
            found.setdefault((point.kind, point.detail), []).append(point)
    return [
        (
            "" if int(steps) == STEPS else f"{int(steps):,}",
            (fmean(p.knn for p in each), fmean(p.forest for p in each)),
            (),
        )
        for (_, steps), each in found.items()
    ]


def _table(steps: int, points: Sequence[ReferencePoint], results: Results) -> str:
    seeds = sorted({point.seed for point in points})
    rival = _places(standing(RIVAL, results, seeds=seeds, steps=steps))
    others = dict.fromkeys(row.base for row in ROWS.values() if row.base != RIVAL)
    title = CONTENDERS[RIVAL].title
    lines = [
        f"| partners, {steps:,} steps | seeds | k-NN | forest | k-NN minus {title} | "
        f"forest minus {title} |",
        "|---|---|---:|---:|---:|---:|",
        *([_line(title, rival, {})] if rival else []),
    ]
    for name in others:
        places = _places(standing(name, results, seeds=seeds, steps=steps))
        lines += [_line(CONTENDERS[name].title, places, rival)] if places else []
    for key, row in ROWS.items():
        places = {p.seed: (p.knn, p.forest) for p in points if p.kind == _KIND + key}
        lines += [_line(row.title, places, rival)] if places else []
    return "\n".join(lines)


_Places = dict[int, tuple[float, float]]
"""Seed to k-NN and forest similarity."""


def _places(row: Standing) -> _Places:
    return {scores.seed: (scores.knn, scores.forest) for scores in row.seeds}


def _line(title: str, places: _Places, rival: _Places) -> str:
    cells = [title, ", ".join(map(str, places))]
    for axis, digits in ((0, 2), (1, 3)):
        cells.append(f"{fmean(place[axis] for place in places.values()):.{digits}f}")
    for axis, digits in ((0, 2), (1, 3)):
        minus = [place[axis] - rival[seed][axis] for seed, place in places.items() if seed in rival]
        each = ", ".join(f"{value:+.{digits}f}" for value in minus)
        cells.append(f"{fmean(minus):+.{digits}f} ({each})" if minus else "—")
    return f"| {' | '.join(cells)} |"

"""Partners that the labels choose: a ceiling for every walk.

A walk can do no better than to end in an image's own class. Here labels say who that is, which no
method may ask: what such partners gain over VICReg is what better neighbours could win, and where
they gain nothing, no search for neighbours will. `docs/study.md` has the rule and the numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from replication.contenders import CONTENDERS, plan
from replication.measured import Results
from replication.references import ReferencePoint, Sets, Wanted, embedded_by
from replication.screening import Standing, standing
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


BASELINE = "vicreg-10"
ROWS = {
    # Share and weight of the walk around the own view: docs/method.md has its arithmetic.
    "as-walk": Row("by label, as many and as heavy as the walk's", "own-view-10", 0.286, 0.169),
    "half": Row("by label, half of the rows, weight 1", BASELINE, 0.5, 1.0),
    "nearest": Row("by label, the nearest, half of the rows, weight 1", BASELINE, 0.5, 1.0, True),
}
_KIND = "class-pairs-"


def class_pair_points(
    names: Sequence[str], store: Store, results: Results, *, seeds: Sequence[int], steps: int
) -> Iterator[Wanted]:
    """Want the points of these rows, whose models are trained when they are measured."""
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


def _table(steps: int, points: Sequence[ReferencePoint], results: Results) -> str:
    seeds = sorted({point.seed for point in points})
    baseline = standing(BASELINE, results, seeds=seeds, steps=steps)
    lines = [
        f"| partners, {steps:,} steps | seeds | k-NN | forest | k-NN minus VICReg | "
        "forest minus VICReg |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in dict.fromkeys([BASELINE, *(row.base for row in ROWS.values())]):
        row = standing(name, results, seeds=seeds, steps=steps)
        if row.seeds:
            lines.append(_line(CONTENDERS[name].title, _places(row), baseline))
    for key, oracle in ROWS.items():
        found = {p.seed: (p.knn, p.forest) for p in points if p.kind == _KIND + key}
        if found:
            lines.append(_line(oracle.title, found, baseline))
    return "\n".join(lines)


def _places(row: Standing) -> dict[int, tuple[float, float]]:
    return {scores.seed: (scores.knn, scores.forest) for scores in row.seeds}


def _line(title: str, places: dict[int, tuple[float, float]], baseline: Standing) -> str:
    theirs = _places(baseline)
    paired = [seed for seed in places if seed in theirs]
    cells = [title, ", ".join(map(str, places))]
    for axis, digits in ((0, 2), (1, 3)):
        cells.append(f"{fmean(place[axis] for place in places.values()):.{digits}f}")
    for axis, digits in ((0, 2), (1, 3)):
        minus = [places[seed][axis] - theirs[seed][axis] for seed in paired]
        each = ", ".join(f"{value:+.{digits}f}" for value in minus)
        same = places == theirs or not minus
        cells.append("—" if same else f"{fmean(minus):+.{digits}f} ({each})")
    return f"| {' | '.join(cells)} |"

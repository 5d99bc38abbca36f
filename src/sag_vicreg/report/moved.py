"""What moved between the two models a page compares first, for its section of that name."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.report.flow import DrawnFlow, Label, called_by, draw_flow, is_filled
from sag_vicreg.report.points import Points
from sag_vicreg.report.tables import Cell, PageRow, PageTable
from sag_vicreg.structure import Branch, Movements

_MOVERS, _NEAR, _CLASSES, _EXAMPLES = 60, 6, 12, 4


@dataclass(frozen=True)
class Moved:
    """The section: its first sentence, the flow, a table of classes, and the items that moved."""

    sentence: str
    flow: DrawnFlow
    classes: PageTable | None
    movers: tuple[Mapping[str, Any], ...]
    total: int


def build_moved(points: Points, rows: NDArray[np.intp], moved: Movements) -> Moved:
    """Describe what moved; items are named by their places among the ``rows`` the page shows."""
    shown = {int(row): place for place, row in enumerate(rows)}
    counts, noun = moved.flow.counts, points.noun
    old, new = (
        [
            *(_label(branch, points, shown) for branch in branches),
            Label("not resolved", f"{unresolved:,} {noun}s in no branch that recurs"),
        ]
        for branches, unresolved in (
            (moved.flow.old, counts[-1].sum()),
            (moved.flow.new, counts[:, -1].sum()),
        )
    )
    return Moved(
        sentence=_sentence(moved, noun),
        flow=draw_flow(counts, old, new),
        classes=_classes(points, moved),
        movers=tuple(_mover(moved, place, points, shown) for place in moved.movers(_MOVERS)),
        total=int(moved.moved.sum()),
    )


def _sentence(moved: Movements, noun: str) -> str:
    fates = [branch.fate for branch in moved.branches]
    counted = ", ".join(f"{fates.count(fate)} {fate}" for fate in dict.fromkeys(fates))
    branches = f" Of {len(fates)} branches that recur in the first model’s trees: {counted}."
    return (
        f"{moved.moved.sum():,} of {len(moved.rows):,} {noun}s changed their place by more than "
        f"their neighbours did.{branches if fates else ''}"
    )


def _label(branch: Branch, points: Points, shown: Mapping[int, int]) -> Label:
    about = f"{branch.size:,} {points.noun}s, in {branch.support:.0%} of trees"
    examples = [shown[row] for row in branch.rows.tolist() if row in shown][:_EXAMPLES]
    return Label(_name(branch, points), about, branch.fate or "", tuple(examples))


def _name(branch: Branch, points: Points) -> str:
    """Name a branch by the finest group that nearly fills it, without labels by its centre.

    Where none does, by its two largest groups at the coarsest level.
    """
    if points.labels is None:
        return f"like {points.like(int(branch.rows[0]))}"
    for level in reversed(points.levels):
        members = level.groups_of_classes[points.labels[branch.rows]]
        groups = Counter(level.names[group] for group in members)
        if is_filled(groups):
            break
    return called_by(groups)


def _classes(points: Points, moved: Movements) -> PageTable | None:
    if points.labels is None:
        return None
    names = np.array(points.classes)[points.labels]
    found = [each for each in moved.by_class(names) if each.moved > 0][:_CLASSES]
    rows = [
        PageRow(
            each.label,
            (
                Cell(f"{each.items:,}"),
                Cell(f"{each.moved:.0%}"),
                Cell(f"{each.similarity:.2f}"),
                Cell(f"{each.neighbors_lost:.0%}"),
            ),
        )
        for each in found
    ]
    columns = (f"{points.noun}s", "moved", "place kept", "neighbours lost")
    return PageTable("Classes that moved most", "", "class", columns, tuple(rows)) if rows else None


def _mover(
    moved: Movements, place: int, points: Points, shown: Mapping[int, int]
) -> Mapping[str, Any]:
    def item(row: int) -> dict[str, Any]:
        return {
            "point": shown.get(int(row)),
            "name": points.describe(int(row)),
            "class": None if points.labels is None else points.classes[points.labels[row]],
            "text": None if points.texts is None else points.texts[row],
        }

    return {
        **item(moved.rows[place]),
        "motion": round(float(moved.motion[place]), 3),
        "lost": round(float(moved.neighbors_lost[place]), 3),
        "old": [item(row) for row in moved.old_neighbors[place][:_NEAR]],
        "new": [item(row) for row in moved.new_neighbors[place][:_NEAR]],
    }

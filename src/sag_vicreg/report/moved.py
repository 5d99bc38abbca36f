"""What moved between the two models a page compares first, for its section of that name."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.report.flow import Bar, DrawnFlow, draw_flow
from sag_vicreg.report.points import Points
from sag_vicreg.report.tables import Cell, PageRow, PageTable
from sag_vicreg.structure import Branch, Movements

_MOVERS, _NEAR, _CLASSES, _EXAMPLES = 60, 6, 12, 4
# Of a branch, for it to be called by the name of one group.
_NEARLY_ALL = 0.8
_NOTE = (
    "Branches recur in at least 70% of a model’s trees. Kept, split, merged and scattered say what "
    "most trees of the second model make of them."
)


@dataclass(frozen=True)
class Node:
    """A bar with what stands beside it: its name, a line about it, rows to show."""

    bar: Bar
    name: str
    about: str
    fate: str
    examples: tuple[int, ...]


@dataclass(frozen=True)
class FlowCard:
    """A flow between the branches of two models, with what stands beside it and below."""

    flow: DrawnFlow
    old: tuple[Node, ...]
    new: tuple[Node, ...]
    ribbons: tuple[tuple[str, str, str], ...]
    """Path, colour and words of each ribbon."""
    note: str
    title: str = ""


@dataclass(frozen=True)
class Moved:
    """The section: its first sentence, the flow, a table of classes, and the items that moved."""

    models: tuple[str, str]
    sentence: str
    card: FlowCard
    classes: PageTable | None
    movers: tuple[Mapping[str, Any], ...]
    total: int


def build_moved(
    points: Points, rows: NDArray[np.intp], moved: Movements, models: tuple[str, str]
) -> Moved:
    """Describe what moved; items are named by their places among the ``rows`` the page shows."""
    shown = {int(row): place for place, row in enumerate(rows)}
    counts = moved.flow.counts
    sides = (moved.flow.old, counts[-1].sum()), (moved.flow.new, counts[:, -1].sum())
    card = flow_card(
        counts,
        lambda side, bar: _node(bar, sides[side][0], points, shown, sides[side][1]),
        noun=points.noun,
        note=_NOTE,
    )
    return Moved(
        models=models,
        sentence=_sentence(moved, points.noun),
        card=card,
        classes=_classes(points, moved),
        movers=tuple(_mover(moved, place, points, shown) for place in moved.movers(_MOVERS)),
        total=int(moved.moved.sum()),
    )


def flow_card(
    counts: NDArray[np.int64],
    node: Callable[[int, Bar], Node],
    *,
    noun: str,
    note: str,
    title: str = "",
) -> FlowCard:
    """Draw a flow; ``node(side, bar)`` says what stands beside a bar."""
    flow = draw_flow(counts)
    old, new = (
        tuple(node(side, bar) for bar in bars) for side, bars in enumerate((flow.old, flow.new))
    )
    names = [
        {size - 1 if each.bar.branch is None else each.bar.branch: each.name for each in nodes}
        for nodes, size in zip((old, new), counts.shape, strict=True)
    ]
    ribbons = tuple(
        (
            each.path,
            each.color,
            f"{each.count:,} {noun}s: {names[0][each.source]} → {names[1][each.target]}",
        )
        for each in flow.ribbons
    )
    return FlowCard(flow, old, new, ribbons, note, title)


def _sentence(moved: Movements, noun: str) -> str:
    fates = [branch.fate for branch in moved.branches]
    counted = ", ".join(f"{fates.count(fate)} {fate}" for fate in dict.fromkeys(fates))
    branches = f" Of {len(fates)} branches that recur in the first model’s trees: {counted}."
    return (
        f"{moved.moved.sum():,} of {len(moved.rows):,} {noun}s changed their place by more than "
        f"their neighbours did.{branches if fates else ''}"
    )


def _node(
    bar: Bar,
    branches: tuple[Branch, ...],
    points: Points,
    shown: Mapping[int, int],
    unresolved: int,
) -> Node:
    if bar.branch is None:
        return Node(
            bar, "not resolved", f"{unresolved:,} {points.noun}s in no branch that recurs", "", ()
        )
    branch = branches[bar.branch]
    about = f"{branch.size:,} {points.noun}s, in {branch.support:.0%} of trees"
    examples = [shown[int(row)] for row in branch.rows if int(row) in shown][:_EXAMPLES]
    return Node(bar, _name(branch, points), about, branch.fate or "", tuple(examples))


def _name(branch: Branch, points: Points) -> str:
    """Name a branch by the finest group that nearly fills it, without labels by its centre.

    Where none does, by its two largest groups at the coarsest level.
    """
    if points.labels is None:
        return f"like {points.like(int(branch.rows[0]))}"
    largest: list[tuple[str, int]] = []
    for level in reversed(points.levels):
        groups = level.groups_of_classes[points.labels[branch.rows]]
        largest = Counter(level.names[group] for group in groups).most_common(2)
        if largest[0][1] >= _NEARLY_ALL * branch.size:
            return largest[0][0]
    return ", ".join(f"{name} {count / branch.size:.0%}" for name, count in largest)


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
        label = None if points.labels is None else points.classes[points.labels[row]]
        text = None if points.texts is None else points.texts[row]
        name = points.describe(int(row))
        return {"point": shown.get(int(row)), "name": name, "class": label, "text": text}

    return {
        **item(moved.rows[place]),
        "motion": round(float(moved.motion[place]), 3),
        "lost": round(float(moved.neighbors_lost[place]), 3),
        "old": [item(row) for row in moved.old_neighbors[place][:_NEAR]],
        "new": [item(row) for row in moved.new_neighbors[place][:_NEAR]],
    }

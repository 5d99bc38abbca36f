"""What moved, in words: the branches that were not kept, and the items that moved most."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from sag_vicreg.artifacts import Joined, shorten
from sag_vicreg.errors import visible
from sag_vicreg.structure import Branch, Movements
from sag_vicreg.structure.movements import Names

_NEAR = 3
# Characters of a text: of the item a line is about, and of those near it.
_LONG, _SHORT = 60, 30
_COLUMNS = (
    *("item", "label", "motion", "similarity", "reliability", "neighbors_lost"),
    *("old_neighbors", "new_neighbors"),
)


@dataclass(frozen=True)
class Naming:
    """What to call the rows of a set.

    Attributes
    ----------
    ids, labels, texts
        Of all rows, where there are any.
    """

    ids: Names | None = None
    labels: Names | None = None
    texts: Names | None = None

    @classmethod
    def of(cls, joined: Joined) -> "Naming":
        """Name items as the first of several joined sets does, and by the first texts there are."""
        first = joined.sets[0]
        return cls(first.ids, first.labels, joined.texts)

    def to_dict(self, moved: Movements, *, count: int | None = 20) -> dict[str, Any]:
        """Return what JSON can hold of what moved, items called as here."""
        return moved.to_dict(ids=self.ids, labels=self.labels, texts=self.texts, count=count)

    def item(self, row: int) -> str:
        """Call a row by its id and, where there is one, its text."""
        name, text = visible(self.id_of(row)), self._text(row, _LONG)
        return f"{name} {text}" if text else name

    def in_short(self, row: int) -> str:
        """Call a row by its text alone, where there is one."""
        return self._text(row, _SHORT) or visible(self.id_of(row))

    def _text(self, row: int, most: int) -> str:
        """Quote so many characters of a row's text at most; nothing where there is none."""
        text = "" if self.texts is None else shorten(self.texts[row], most)
        return f"“{text}”" if text else ""

    def id_of(self, row: int) -> str:
        """Return the id of a row as it is, for tables."""
        return f"row {row}" if self.ids is None else str(self.ids[row])

    def branch(self, branch: Branch) -> str:
        """Call a branch by its main class where it has one, else by what is at its centre."""
        size = f"{branch.size:,} items"
        if self.labels is not None:
            labels, counts = np.unique(np.asarray(self.labels)[branch.rows], return_counts=True)
            share = counts.max() / branch.size
            if share > 0.5:
                return f"{size}, {share:.0%} {visible(str(labels[counts.argmax()]))}"
        return f"{size} around {', '.join(self.in_short(row) for row in branch.examples[:_NEAR])}"


def branch_lines(moved: Movements, naming: Naming, *, most: int = 5) -> list[str]:
    """Say of each branch that was not kept what became of it, the largest first."""
    changed = [branch for branch in moved.branches if branch.fate != "kept"]
    return [
        f"{branch.fate}: {naming.branch(branch)} (in {branch.support:.0%} of the old trees; "
        f"{branch.agreement:.0%} of the new ones say so)"
        for branch in changed[:most]
    ]


def mover_lines(moved: Movements, naming: Naming, *, most: int = 5) -> list[str]:
    """Say of the items that moved most where they were and where they are."""
    lines = []
    for place in moved.movers(most):
        was, is_ = (
            ", ".join(naming.in_short(row) for row in near[place][:_NEAR])
            for near in (moved.old_neighbors, moved.new_neighbors)
        )
        lines.append(
            f"{naming.item(moved.rows[place])} moved by {moved.motion[place]:.2f} and lost "
            f"{moved.neighbors_lost[place]:.0%} of its neighbours: was near {was}; is near {is_}"
        )
    return lines


def moved_lines(moved: Movements, naming: Naming, *, most: int = 5) -> list[str]:
    """Say what moved: the count, the branches that were not kept, the items that moved most."""
    return [
        f"What moved: {moved.sentence()}.",
        *branch_lines(moved, naming, most=most),
        *mover_lines(moved, naming, most=most),
    ]


def movers_csv(moved: Movements, naming: Naming) -> str:
    """Write a line per item, the one that moved most first: how far, its neighbours, its text."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([*_COLUMNS, *([] if naming.texts is None else ["text"])])
    for place in np.argsort(-moved.motion, kind="stable"):
        row = moved.rows[place]
        # As lists in JSON: an id may hold whatever could part two of them.
        near = [
            json.dumps([naming.id_of(other) for other in each[place]], ensure_ascii=False)
            for each in (moved.old_neighbors, moved.new_neighbors)
        ]
        numbers = (
            f"{each[place]:.4f}"
            for each in (moved.motion, moved.similarity, moved.reliability, moved.neighbors_lost)
        )
        label = "" if naming.labels is None else naming.labels[row]
        text = [] if naming.texts is None else [naming.texts[row]]
        writer.writerow([naming.id_of(row), label, *numbers, *near, *text])
    return table.getvalue()

"""What moved, in words: the branches that were not kept, and the items that moved most."""

import csv
import io
from dataclasses import dataclass

import numpy as np

from sag_vicreg.structure import Branch, Movements
from sag_vicreg.structure.movements import Names

_NEAR = 3
_LONGEST = 60
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

    def item(self, row: int) -> str:
        """Call a row by its id and, where there is one, its text."""
        name = f"row {row}" if self.ids is None else str(self.ids[row])
        return name if self.texts is None else f"{name} “{brief(self.texts[row])}”"

    def branch(self, branch: Branch) -> str:
        """Call a branch by its main class where it has one, else by what is at its centre."""
        size = f"{branch.size:,} items"
        if self.labels is not None:
            labels, counts = np.unique(np.asarray(self.labels)[branch.rows], return_counts=True)
            share = counts.max() / branch.size
            if share > 0.5:
                return f"{size}, {share:.0%} {labels[counts.argmax()]}"
        return f"{size} around {', '.join(self.item(row) for row in branch.examples[:_NEAR])}"


def brief(text: str) -> str:
    """Put a text on one line and cut it short."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


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
            ", ".join(naming.item(row) for row in near[place][:_NEAR])
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
    """Write a line per item, the one that moved most first: how far, and its neighbours."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(
        [
            "item",
            "label",
            "motion",
            "similarity",
            "reliability",
            "neighbors_lost",
            "old_neighbors",
            "new_neighbors",
        ]
    )
    plain = Naming(naming.ids)
    for place in np.argsort(-moved.motion, kind="stable"):
        row = moved.rows[place]
        near = [
            " ".join(plain.item(other) for other in each[place])
            for each in (moved.old_neighbors, moved.new_neighbors)
        ]
        numbers = (moved.motion, moved.similarity, moved.reliability, moved.neighbors_lost)
        label = "" if naming.labels is None else naming.labels[row]
        writer.writerow(
            [plain.item(row), label, *(f"{each[place]:.4f}" for each in numbers), *near]
        )
    return table.getvalue()

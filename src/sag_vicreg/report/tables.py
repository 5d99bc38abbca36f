"""Numbers for people: cards and tables, the best in bold, the spread beside the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

STRUCTURE = {
    "lca.pearson": "LCA Pearson",
    "lca.spearman": "LCA Spearman",
    "lca.kendall": "LCA Kendall",
    "cophenetic.d1_to_p2": "Cophenetic D1→P2",
    "cophenetic.d2_to_p1": "Cophenetic D2→P1",
}


@dataclass(frozen=True)
class Cell:
    """One score as printed."""

    text: str
    spread: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """One model, method or pair."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table of scores."""

    title: str
    note: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Card:
    """One number large enough to be read first."""

    label: str
    value: str
    spread: str = ""
    note: str = ""


@dataclass(frozen=True)
class Scores:
    """The scores of one row, by flat key, and their spread where it is known."""

    name: str
    values: Mapping[str, float]
    spreads: Mapping[str, float]
    problem: str = ""
    """Why there are no scores, where there are none."""


def number(value: float) -> str:
    """Three decimals and a true minus sign."""
    return f"{value:.3f}".replace("-", "−")


def plus_minus(spread: float | None) -> str:
    """Return the spread as it stands beside a score; nothing where there is none."""
    return "" if spread is None else f"± {spread:.3f}"


def score_table(
    rows: Sequence[Scores], columns: Mapping[str, str], *, title: str, note: str, corner: str
) -> Table:
    """Lay out one row a set of scores, one column a key; the best of a column is bold."""
    best = {
        key: max((row.values[key] for row in rows if key in row.values), default=None)
        for key in columns
    }

    def cell(row: Scores, key: str) -> Cell:
        if key not in row.values:
            return Cell("–")
        value = row.values[key]
        bold = len(rows) > 1 and value == best[key]
        return Cell(number(value), plus_minus(row.spreads.get(key)), bold)

    return Table(
        title,
        note,
        corner,
        tuple(columns.values()),
        tuple(Row(row.name, tuple(cell(row, key) for key in columns)) for row in rows),
    )

"""Numbers for people: cards and tables, the best in bold, the spread beside the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sag_vicreg.artifacts import Spread

STRUCTURE = {
    "lca.pearson": "LCA Pearson",
    "lca.spearman": "LCA Spearman",
    "lca.kendall": "LCA Kendall",
    "cophenetic.d1_to_p2": "Cophenetic D1→P2",
    "cophenetic.d2_to_p1": "Cophenetic D2→P1",
}
FAR = "more than 2 deviations from the halves' mean: do not read ± as the error of the score"


@dataclass(frozen=True)
class Cell:
    """One score as printed."""

    text: str
    spread: str = ""
    best: bool = False
    note: str = ""
    """On a line of its own."""


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
    note: str = ""


@dataclass(frozen=True)
class Scores:
    """The scores of one row, by flat key, and their spread where it is known."""

    name: str
    values: Mapping[str, float]
    spreads: Mapping[str, float] = field(default_factory=dict)
    """Deviation around the score, as over seeds."""
    halves: Mapping[str, Spread] = field(default_factory=dict)
    """Random halves, whose mean may be far from the score."""
    problem: str = ""
    """Why there are no scores, where there are none."""


def number(value: float) -> str:
    """Three decimals and a true minus sign."""
    return f"{value:.3f}".replace("-", "−")


def plus_minus(spread: float | None) -> str:
    """Return the spread as it stands beside a score; nothing where there is none."""
    return "" if spread is None else f"± {spread:.3f}"


def of_halves(halves: Spread | None) -> str:
    """Return the halves' own mean and deviation; nothing where there are none."""
    return "" if halves is None else f"halves: {number(halves.mean)} ± {halves.deviation:.3f}"


def is_far(score: float, halves: Spread | None) -> bool:
    """Whether a score is visibly more than two deviations from the mean of its halves."""
    return halves is not None and abs(score - halves.mean) > max(2 * halves.deviation, 5e-4)


def any_far(row: Scores) -> bool:
    """Whether any score of the row is."""
    return any(is_far(row.values[key], halves) for key, halves in row.halves.items())


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
        halves = row.halves.get(key)
        mark = " †" if is_far(value, halves) else ""
        spread = plus_minus(row.spreads.get(key))
        return Cell(number(value), spread, bold, f"{of_halves(halves)}{mark}")

    return Table(
        title,
        f"{note} † {FAR}." if any(map(any_far, rows)) else note,
        corner,
        tuple(columns.values()),
        tuple(Row(row.name, tuple(cell(row, key) for key in columns)) for row in rows),
    )

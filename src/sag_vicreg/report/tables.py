"""Numbers for people: cards and tables, the best in bold, the deviation beside the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sag_vicreg.scores import FOREST, MISSING, UNSTABLE, Spread, best, measure_of


@dataclass(frozen=True)
class Cell:
    """One score as printed."""

    text: str
    deviation: str = ""
    best: bool = False
    notes: tuple[str, ...] = ()
    """Each on a line of its own."""


@dataclass(frozen=True)
class PageRow:
    """One model, method or pair."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class PageTable:
    """A table of scores."""

    title: str
    note: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class Card:
    """One number large enough to be read first."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class ScoreRow:
    """The scores of a model, a recipe or a pair, by flat key, and how far they move if known.

    ``forest.low`` and ``forest.high`` are the interval of ``forest.spearman``.
    """

    name: str
    scores: Mapping[str, float]
    deviations: Mapping[str, float] = field(default_factory=dict)
    """Over seeds."""
    halves: Mapping[str, Spread] = field(default_factory=dict)
    """Over random halves, whose mean may be far from the score."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What else stands below a score."""

    def is_unstable(self, key: str) -> bool:
        """Whether half-samples are known to move this score too far."""
        score, halves = self.scores.get(key), self.halves.get(key)
        return score is not None and halves is not None and halves.unsettles(score)


def number(value: float) -> str:
    """Three decimals and a true minus sign."""
    return f"{value:.3f}".replace("-", "−")


def written(key: str, value: float) -> str:
    """Return a score in its unit."""
    return f"{value:.1%}" if measure_of(key).unit == "percent" else number(value)


def plus_minus(deviation: float | None) -> str:
    """Return the deviation as it stands beside a score; nothing where there is none."""
    return "" if deviation is None else f"± {deviation:.3f}"


def interval_of(row: ScoreRow) -> str:
    """Return the interval of the forest similarity; nothing where it has none.

    A mean over seeds has none: each of them has its own.
    """
    if "forest.low" not in row.scores or FOREST in row.deviations:
        return ""
    # No similarity is above 1, though noise may carry the estimate there.
    low, high = row.scores["forest.low"], row.scores["forest.high"]
    return f"{number(low)} to {number(high)}"


def score_table(
    rows: Sequence[ScoreRow], columns: Mapping[str, str], *, title: str, note: str, corner: str
) -> PageTable:
    """Lay out one row per set of scores, one column per key.

    The best of a column is bold, with what reads the same, unless a single tree made it by chance.
    """
    winners = {
        key: best({row.name: row.scores[key] for row in rows if key in row.scores}, key, digits=3)
        for key in columns
    }

    def cell(row: ScoreRow, key: str) -> Cell:
        if key not in row.scores:
            return Cell(MISSING)
        unstable = row.is_unstable(key)
        notes = [row.notes.get(key, ""), interval_of(row) if key == FOREST else ""]
        if key in row.halves:
            halves = row.halves[key]
            mark = " †" if unstable else ""
            notes.append(f"halves: {number(halves.mean)} {plus_minus(halves.deviation)}{mark}")
        return Cell(
            written(key, row.scores[key]),
            plus_minus(row.deviations.get(key)),
            len(rows) > 1 and row.name in winners[key] and not unstable,
            tuple(filter(None, notes)),
        )

    if any(row.is_unstable(key) for row in rows for key in columns):
        has_forest = any(FOREST in row.scores for row in rows)
        remedy = "read the forest similarity" if has_forest else "one tree says little here"
        note = f"{note} † Half-samples move this score by more than {UNSTABLE:g}: {remedy}."
    return PageTable(
        title,
        note.strip(),
        corner,
        tuple(columns.values()),
        tuple(PageRow(row.name, tuple(cell(row, key) for key in columns)) for row in rows),
    )

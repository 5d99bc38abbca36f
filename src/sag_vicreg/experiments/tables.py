"""A table of scores: who is best, who is second, and by how much our method gains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

OURS = ("sag-vicreg", "sag-vicreg-vit")


@dataclass(frozen=True)
class Score:
    """A mean, its deviation where there is more than one run, and the number of runs.

    ``runs`` is None where nobody says how many there were, as in the paper's own tables.
    """

    mean: float
    deviation: float | None = None
    runs: int | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Score | None":
        """Mean and sample deviation of ``values``; None of nothing.

        Examples
        --------
        >>> Score.of([0.25, 0.75])
        Score(mean=0.5, deviation=0.3535533905932738, runs=2)
        """
        if not values:
            return None
        mean = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(mean, None, 1)
        squares = math.fsum((value - mean) ** 2 for value in values)
        return cls(mean, math.sqrt(squares / (len(values) - 1)), len(values))


@dataclass(frozen=True)
class Column:
    """One column: the key of its score, its own heading and the heading above it."""

    key: str
    heading: str
    group: str = ""


@dataclass(frozen=True)
class Row:
    """One method: a score per column, None where it is not finished."""

    method: str
    label: str
    scores: tuple[Score | None, ...]
    paper: tuple[Score | None, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows of methods, columns of scores, and what a reader must know to read them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    percent: bool = False
    lower_is_better: bool = False
    ranked: bool = True
    averaged: bool = True
    notes: tuple[str, ...] = field(default=())

    def standing(self, column: int) -> tuple[str | None, str | None]:
        """Return the best and the second-best method of a column, of those that have finished.

        Neither where rows are not rivals (``ranked`` is False), as in a table of differences.
        """
        if not self.ranked:
            return None, None
        finished = [(row.scores[column], row.method) for row in self.rows]
        ranked = sorted(
            ((score.mean, method) for score, method in finished if score is not None),
            key=lambda pair: pair[0] if self.lower_is_better else -pair[0],
        )
        names = [method for _, method in ranked]
        # One row has nobody to be better than.
        if len(names) < 2:
            return None, None
        return names[0], names[1]

    def gain(self, column: int) -> float | None:
        """Our method's relative gain, in percent, over the best of the others.

        The paper's last row. It is negative where another method is better, and None where our
        method or every other one is missing, or where the best other score is not positive (a
        ratio of correlations says nothing there) or rows are not rivals.
        """
        if not self.ranked:
            return None
        ours = [row.scores[column] for row in self.rows if row.method in OURS]
        others = [row.scores[column] for row in self.rows if row.method not in OURS]
        means = [score.mean for score in others if score is not None]
        if not ours or ours[0] is None or not means:
            return None
        best = min(means) if self.lower_is_better else max(means)
        if best <= 0:
            return None
        return 100 * (ours[0].mean / best - 1)

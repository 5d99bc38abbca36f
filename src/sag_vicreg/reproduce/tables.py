"""Tables of scores: averaged over seeds, laid out as declared, ranked, with the paper's beside.

:mod:`sag_vicreg.reproduce.formats` prints them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources

import yaml

from sag_vicreg.artifacts import Result
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import METHOD_LABELS
from sag_vicreg.reproduce.declarations import Declaration, Setting
from sag_vicreg.reproduce.plan import OPTIONS, Evaluation
from sag_vicreg.scores import Score, is_forest, measure_of

OURS = ("sag-vicreg", "sag-vicreg-literal", "sag-vicreg-vit")
_FOREST = OPTIONS["structure"]["forest"]
FOREST_NOTE = (
    f"Forest: corrected similarity of forests of {_FOREST['trees']} trees over at most "
    f"{_FOREST['max_images']:,} of the images; ours, not the paper's."
)
Finished = Mapping[tuple[str, str], Sequence[Result]]
"""(setting, method) to its finished results, one per seed."""


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
    notes: tuple[str, ...] = ()

    @cached_property
    def scores(self) -> list[Score]:
        """Every score there is."""
        return [score for row in self.rows for score in row.scores if score is not None]

    def _means(self, column: int) -> dict[str, float]:
        """Mean scores of those that have finished, by method; none where rows are not rivals."""
        scores = {row.method: row.scores[column] for row in self.rows if self.ranked}
        return {method: score.mean for method, score in scores.items() if score is not None}

    def standing(self, column: int) -> tuple[str | None, str | None]:
        """Return the best and the second-best method of a column, of those that have finished.

        Neither where rows are not rivals (``ranked`` is False), as in a table of differences.
        """
        means = self._means(column)
        # One row has nobody to be better than.
        if len(means) < 2:
            return None, None
        best, second, *_ = sorted(means, key=means.__getitem__, reverse=not self.lower_is_better)
        return best, second

    def gain(self, column: int) -> float | None:
        """Our method's relative gain, in percent, over the best of the others; the last reading's.

        The paper's last row. It is negative where another method is better, and None where our
        method or every other one is missing, or where the best other score is not positive (a
        ratio of correlations says nothing there) or rows are not rivals.
        """
        means = self._means(column)
        ours = [row.method for row in self.rows if row.method in OURS]
        others = [mean for method, mean in means.items() if method not in OURS]
        if not ours or ours[-1] not in means or not others:
            return None
        best = min(others) if self.lower_is_better else max(others)
        return 100 * (means[ours[-1]] / best - 1) if best > 0 else None


def finished(evaluations: Iterable[Evaluation], results: Mapping[str, Result]) -> list[Result]:
    """Return the results there are, without those whose training stopped itself.

    An address says what a result is of; the method is called as it is asked for, since a recipe may
    since have taken another name.
    """
    return [
        replace(results[each.key], method=each.method)
        for each in evaluations
        if each.key in results and results[each.key].failure is None
    ]


def of_method(results: Iterable[Result], method: str) -> list[Result]:
    """Return one method's results."""
    return [result for result in results if result.method == method]


def average(results: Sequence[Result], score: str) -> Score | None:
    """Mean and deviation of one score over seeds; refused for results of different recipes.

    Results made before there were forests have no scores of them and are left out of their average.
    """
    families = {result.family for result in results}
    if len(families) > 1:
        raise InputError(
            f"results of {len(families)} different recipes or settings cannot be averaged: "
            f"{', '.join(sorted(result.file_name for result in results))}"
        )
    seeds = [result.seed for result in results]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"the same seed twice in one average: seeds {sorted(seeds)}")
    return Score.of(list(by_seed(results, score).values()))


def by_seed(results: Iterable[Result], score: str) -> dict[int, float]:
    """Return one score of every result that has it, by seed; refused for different forests."""
    ended_well = [result for result in results if result.failure is None]
    if is_forest(score):
        ended_well = [result for result in ended_well if score in result.scores]
        settings = [result.options.get("forest") for result in ended_well]
        if any(each != settings[0] for each in settings):
            raise InputError(
                "scores of forests with different settings cannot be compared: "
                f"{', '.join(sorted(result.file_name for result in ended_well))}"
            )
    return {result.seed: result.scores[score] for result in ended_well}


def _score(printed: str | float) -> Score:
    mean, _, deviation = str(printed).partition("±")
    return Score(float(mean), float(deviation) if deviation else None)


@cache
def paper_numbers() -> dict[str, dict[str, dict[str, tuple[Score, ...]]]]:
    """Every printed number: table, then group of columns, then method (or ``gain``)."""
    text = resources.files(__package__).joinpath("paper.yaml").read_text(encoding="utf-8")
    return {
        table: {
            group: {row: tuple(map(_score, values)) for row, values in rows.items()}
            for group, rows in groups.items()
        }
        for table, groups in yaml.safe_load(text).items()
    }


def paper_row(table: str, group: str, method: str) -> tuple[Score, ...] | None:
    """Return the paper's scores of ``method`` there, or None where it prints none."""
    return paper_numbers().get(table, {}).get(group, {}).get(method)


def assemble(
    declared: Declaration,
    settings: Sequence[Setting],
    methods: Sequence[str],
    finished: Finished,
    *,
    like_the_paper: bool = False,
    notes: Sequence[str] = (),
) -> Table:
    """Average over seeds and lay out; ``like_the_paper`` sets its numbers beside ours.

    That is for the paper's own scale alone: a number from a small backbone and a short training
    beside the paper's would look like a comparison and be none.
    """
    factor = 100.0 if declared.percent else 1.0
    places = [(setting, key) for setting in settings for key in declared.columns]
    rows = []
    for method in methods:
        averages = (average(finished.get((s.name, method), ()), key) for s, key in places)
        ours = tuple(_scaled(score, factor) for score in averages)
        printed = {
            (s, key): score
            for s in settings
            for key, score in zip(
                declared.scores, paper_row(declared.name, s.name, method) or (), strict=False
            )
        }
        beside = [printed.get(place) for place in places] if like_the_paper and printed else []
        rows.append(Row(method, METHOD_LABELS[method], ours, tuple(beside)))
    notes = (
        *notes,
        *([FOREST_NOTE] if declared.evaluation == "structure" else []),
        *filter(None, dict.fromkeys(measure_of(key).caveat for key in declared.scores)),
    )
    columns = tuple(Column(key, declared.columns[key], s.heading) for s, key in places)
    return Table(declared.name, declared.title, columns, tuple(rows), declared.percent, notes=notes)


def _scaled(score: Score | None, factor: float) -> Score | None:
    if score is None:
        return None
    deviation = None if score.deviation is None else score.deviation * factor
    return Score(score.mean * factor, deviation, score.runs)

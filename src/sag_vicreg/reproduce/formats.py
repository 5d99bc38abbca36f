"""Tables as Markdown, CSV and LaTeX: best in bold, second underlined, gain in the last row."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from sag_vicreg.errors import check_name
from sag_vicreg.reproduce.tables import Row, Table
from sag_vicreg.scores import Score


@dataclass(frozen=True)
class _Markup:
    """How a language writes what a table has; braces hold the place of the text."""

    bold: str
    underline: str
    percent: str
    paper: str


_MARKDOWN = _Markup("**{}**", "<u>{}</u>", " %", "*{}, paper*")
_LATEX = _Markup(r"\textbf{{{}}}", r"\underline{{{}}}", "%", r"\quad (paper)")
_MISSING = "—"
_ESCAPED = str.maketrans({"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "—": "--"})


def _seeds_differ(table: Table) -> bool:
    return len({score.runs for score in table.scores}) > 1


def _seeds_note(table: Table) -> str:
    """Say over how many seeds the scores are averaged; nothing of what no seed was drawn for."""
    if not table.scores:
        return "Nothing is finished yet."
    spread = any(score.deviation is not None for score in table.scores)
    mean = "Mean ± standard deviation" if spread else "Mean"
    if _seeds_differ(table):
        return f"{mean} over as many seeds as stand in brackets."
    count = table.scores[0].runs
    if count is None:
        return ""
    return "One seed." if count == 1 else f"{mean} over {count} seeds."


def _notes(table: Table) -> str:
    return " ".join((_seeds_note(table), *table.notes)).strip()


def _number(score: Score | None, table: Table) -> str:
    if score is None:
        return _MISSING
    # Correlations and shares to three digits, percentages to two, seconds and megabytes whole.
    digits = 0 if abs(score.mean) >= 100 else 2 if table.percent else 3
    text = f"{score.mean:.{digits}f}"
    if score.deviation is not None:
        text += f" ± {score.deviation:.{digits}f}"
    if score.runs is not None and _seeds_differ(table):
        text += f" [{score.runs}]"
    return text


def _cell(table: Table, row: Row, column: int, markup: _Markup) -> str:
    text = _number(row.scores[column], table)
    best, second = table.standing(column)
    if row.method == best:
        return markup.bold.format(text)
    return markup.underline.format(text) if row.method == second else text


def _body(table: Table, markup: _Markup) -> Iterator[tuple[str, list[str]]]:
    """Write every row: its label and its cells."""
    columns = range(len(table.columns))
    for row in table.rows:
        yield row.label, [_cell(table, row, column, markup) for column in columns]
        if row.paper:
            yield markup.paper.format(row.label), [_number(s, table) for s in row.paper]
    gains = [table.gain(column) for column in columns]
    if any(gain is not None for gain in gains):
        cells = [_MISSING if g is None else f"{g:+.1f}{markup.percent}" for g in gains]
        yield "Overhead" if table.lower_is_better else "Gain", cells


def to_markdown(table: Table) -> str:
    """Render as GitHub-flavoured Markdown; the second best is underlined by ``<u>``."""
    groups = {column.group for column in table.columns}
    # One group has no need to repeat itself over every column.
    only = groups.pop() if len(groups) == 1 else ""
    title = f"{table.title}: {only}" if only else table.title
    headings = [f"{c.group} {c.heading}".removeprefix(only).strip() for c in table.columns]
    lines = [
        f"**{title}**",
        "",
        f"| | {' | '.join(headings)} |",
        f"|---|{'---:|' * len(headings)}",
    ]
    lines += [f"| {label} | {' | '.join(cells)} |" for label, cells in _body(table, _MARKDOWN)]
    lines += ["", _notes(table)]
    return "\n".join(lines).rstrip() + "\n"


_CSV_COLUMNS = (
    *("table", "group", "score", "method"),
    *("mean", "deviation", "runs", "paper_mean", "paper_deviation"),
)


def to_csv(table: Table) -> str:
    """Render one line per score, full precision: what a script would read."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for row in table.rows:
        for index, column in enumerate(table.columns):
            ours = row.scores[index] or Score(float("nan"))
            paper = (row.paper[index] if row.paper else None) or Score(float("nan"))
            values = (ours.mean, ours.deviation, ours.runs, paper.mean, paper.deviation)
            writer.writerow(
                [table.name, column.group, column.key, row.method]
                + ["" if value is None or value != value else repr(value) for value in values]
            )
    return out.getvalue()


def _latex_row(*cells: str) -> str:
    return rf"{' & '.join(cell.translate(_ESCAPED) for cell in cells)} \\"


def to_latex(table: Table) -> str:
    """Render as a ``booktabs`` table, columns grouped as in the paper."""
    groups = [(name, len(list(cols))) for name, cols in groupby(table.columns, lambda c: c.group)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{table.title.translate(_ESCAPED)}}}",
        rf"\begin{{tabular}}{{l{'|'.join('c' * size for _, size in groups)}}}",
        r"\toprule",
    ]
    if any(name for name, _ in groups):
        spans = (rf"\multicolumn{{{size}}}{{c}}{{{name}}}" for name, size in groups)
        lines.append(_latex_row("", *spans))
    lines += [
        _latex_row("", *(column.heading for column in table.columns)),
        r"\midrule",
        *(_latex_row(label, *cells) for label, cells in _body(table, _LATEX)),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par\smallskip {_notes(table).translate(_ESCAPED)}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


_FORMATS = {"markdown": to_markdown, "csv": to_csv, "latex": to_latex}
SUFFIXES = {"markdown": ".md", "csv": ".csv", "latex": ".tex"}


def render(table: Table, style: str) -> str:
    """Render ``table`` as ``markdown``, ``csv`` or ``latex``."""
    check_name("format", style, _FORMATS)
    return _FORMATS[style](table)

"""Tables as Markdown, CSV and LaTeX: best in bold, second underlined, gain in the last row."""

import csv
import io
from collections.abc import Callable
from itertools import groupby

from sag_vicreg.errors import unknown_name
from sag_vicreg.experiments.tables import Row, Score, Table

_MISSING = "—"


def _number(score: Score, table: Table, plus_minus: str) -> str:
    # Correlations and shares to three digits, percentages to two, seconds and megabytes whole.
    digits = 0 if abs(score.mean) >= 100 else 2 if table.percent else 3
    text = f"{score.mean:.{digits}f}"
    if score.deviation is not None:
        text += f"{plus_minus}{score.deviation:.{digits}f}"
    return text


def _seeds_differ(table: Table) -> bool:
    runs = {score.runs for row in table.rows for score in row.scores if score is not None}
    return len(runs) > 1


def _seeds_note(table: Table) -> str:
    scores = [score for row in table.rows for score in row.scores if score is not None]
    if not scores:
        return "Nothing is finished yet."
    spread = any(score.deviation is not None for score in scores)
    mean = "Mean ± standard deviation" if spread else "Mean"
    if _seeds_differ(table):
        return f"{mean} over as many seeds as stand in brackets."
    count = scores[0].runs
    return "One seed." if count == 1 else f"{mean} over {count} seeds."


def _notes(table: Table) -> tuple[str, ...]:
    return (_seeds_note(table), *table.notes) if table.averaged else table.notes


def _cells(
    row: Row, table: Table, *, bold: Callable[[str], str], underline: Callable[[str], str], pm: str
) -> list[str]:
    cells = []
    for column, score in enumerate(row.scores):
        if score is None:
            cells.append(_MISSING)
            continue
        text = _number(score, table, pm)
        if _seeds_differ(table):
            text += f" [{score.runs}]"
        best, second = table.standing(column)
        if row.method == best:
            text = bold(text)
        elif row.method == second:
            text = underline(text)
        cells.append(text)
    return cells


def _paper_cells(row: Row, table: Table, pm: str) -> list[str]:
    return [_MISSING if score is None else _number(score, table, pm) for score in row.paper]


def _gains(table: Table, percent_sign: str) -> list[str] | None:
    gains = [table.gain(column) for column in range(len(table.columns))]
    if all(gain is None for gain in gains):
        return None
    return [_MISSING if gain is None else f"{gain:+.1f}{percent_sign}" for gain in gains]


def _last_row(table: Table) -> str:
    return "Overhead" if table.lower_is_better else "Gain"


def to_markdown(table: Table) -> str:
    """Render as GitHub-flavoured Markdown; the second best is underlined by ``<u>``."""
    groups = list(dict.fromkeys(column.group for column in table.columns))
    title = table.title
    headings = [f"{c.group} {c.heading}".strip() for c in table.columns]
    if len(groups) == 1:
        # One group has no need to repeat itself over every column.
        title = f"{title}: {groups[0]}" if groups[0] else title
        headings = [column.heading for column in table.columns]
    lines = [
        f"**{title}**",
        "",
        f"| | {' | '.join(headings)} |",
        f"|---|{'---:|' * len(headings)}",
    ]
    for row in table.rows:
        cells = _cells(
            row, table, bold=lambda t: f"**{t}**", underline=lambda t: f"<u>{t}</u>", pm=" ± "
        )
        lines.append(f"| {row.label} | {' | '.join(cells)} |")
        if row.paper:
            lines.append(
                f"| *{row.label}, paper* | {' | '.join(_paper_cells(row, table, ' ± '))} |"
            )
    gains = _gains(table, " %")
    if gains:
        lines.append(f"| {_last_row(table)} | {' | '.join(gains)} |")
    lines += ["", " ".join(_notes(table))]
    return "\n".join(lines).rstrip() + "\n"


_CSV_COLUMNS = (
    *("table", "group", "score", "method"),
    *("mean", "deviation", "runs", "paper_mean", "paper_deviation"),
)


def to_csv(table: Table) -> str:
    """Render one line a score, full precision: what a script would read."""
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


_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "—": "--"}


def _escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def to_latex(table: Table) -> str:
    """Render as a ``booktabs`` table, columns grouped as in the paper."""
    groups = [(name, len(list(cols))) for name, cols in groupby(table.columns, lambda c: c.group)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape(table.title)}}}",
        rf"\begin{{tabular}}{{l{'|'.join('c' * size for _, size in groups)}}}",
        r"\toprule",
    ]
    if any(name for name, _ in groups):
        spans = [rf"\multicolumn{{{size}}}{{c}}{{{_escape(name)}}}" for name, size in groups]
        lines.append(rf" & {' & '.join(spans)} \\")
    lines += [rf" & {' & '.join(_escape(c.heading) for c in table.columns)} \\", r"\midrule"]
    for row in table.rows:
        cells = _cells(
            row,
            table,
            bold=lambda t: rf"\textbf{{{t}}}",
            underline=lambda t: rf"\underline{{{t}}}",
            pm=r" $\pm$ ",
        )
        lines.append(rf"{_escape(row.label)} & {' & '.join(cells)} \\".replace(_MISSING, "--"))
        if row.paper:
            paper = " & ".join(_paper_cells(row, table, r" $\pm$ ")).replace(_MISSING, "--")
            lines.append(rf"\quad (paper) & {paper} \\")
    gains = _gains(table, r"\%")
    if gains:
        lines.append(rf"{_last_row(table)} & {' & '.join(gains)} \\".replace(_MISSING, "--"))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip {_escape(' '.join(_notes(table)))}", r"\end{table}"]
    return "\n".join(lines) + "\n"


_FORMATS = {"markdown": to_markdown, "csv": to_csv, "latex": to_latex}
SUFFIXES = {"markdown": ".md", "csv": ".csv", "latex": ".tex"}


def render(table: Table, style: str) -> str:
    """Render ``table`` as ``markdown``, ``csv`` or ``latex``."""
    if style not in _FORMATS:
        raise unknown_name("format", style, _FORMATS)
    return _FORMATS[style](table)

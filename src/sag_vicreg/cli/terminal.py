"""Terminals as they are: narrow, without Unicode, full, or gone."""

import codecs
import errno
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from sag_vicreg.errors import visible
from sag_vicreg.scores import without_nan

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Errors of a stream that nobody can write to any more.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_ASCII = {
    "·": "-",
    "–": "-",
    "—": "-",
    "±": "+-",
    "→": "->",
    "≥": ">=",
    "≤": "<=",
    "×": "x",
    "²": "^2",
    "…": "...",
}
_HANDLER = "sag_vicreg.ascii"
_UNLIMITED = 10_000


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Write what the terminal's encoding does not have in letters that it has."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = (_ASCII.get(letter, "?") for letter in error.object[error.start : error.end])
    return "".join(letters), error.end


def prepare_streams() -> None:
    """Let no letter end a command: not in a terminal without it, not in a file's broken name.

    ``LC_ALL=C`` asks for ASCII, though Python would write UTF-8 there.
    """
    codecs.register_error(_HANDLER, _in_ascii)
    plain = os.environ.get("LC_ALL") in ("C", "POSIX") and "PYTHONIOENCODING" not in os.environ
    for stream in (sys.stdout, sys.stderr):
        # A stream may be closed, or be somebody's own object.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="ascii" if plain else None, errors=_HANDLER)


def let_go_of_output() -> None:
    """Send what is still to be written nowhere: at the exit it would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(content: Mapping[str, Any]) -> None:
    """Print what others read: JSON, in which a score that is no number is null."""
    typer.echo(json.dumps(without_nan(content), indent=2, allow_nan=False))


def open_console() -> "Console":
    """Return a console that prints text as it is, from wherever it was read.

    Nothing in it is taken for markup, and what a terminal would obey is written out.
    """
    from rich.console import Console

    class Visible(Console):
        def render_str(self, text: str, **options: Any) -> "Text":
            return super().render_str("\n".join(map(visible, text.split("\n"))), **options)

    return Visible(markup=False, highlight=False, emoji=False)


def titled_table(
    title: str | None, head: Sequence[str], rows: "Iterable[Sequence[str | Text]]" = ()
) -> "Table":
    """Make a table of a left column and right-aligned ones; short rows end in empty cells."""
    from rich.table import Column, Table

    columns = (
        Column(name, justify="right" if place else "left", overflow="fold")
        for place, name in enumerate(head)
    )
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*row)
    return table


def print_table(console: "Console", table: "Table") -> None:
    """Print a table; where the terminal is too narrow for its numbers, a list instead."""
    from rich.measure import Measurement

    unlimited = console.options.update_width(_UNLIMITED)
    if Measurement.get(console, unlimited, table).minimum <= console.width:
        console.print(table)
        return
    if table.title is not None:
        console.print(table.title, style="italic")
    heads = [" ".join(str(column.header).split()) for column in table.columns[1:]]
    for first, *rest in zip(*(column.cells for column in table.columns), strict=True):
        name = str(first).strip()
        if len(rest) == 1:
            console.print(f"{name}:", rest[0])
            continue
        console.print(name, style="bold")
        for head, cell in zip(heads, rest, strict=True):
            if cell:
                console.print(f"  {head}:", cell)

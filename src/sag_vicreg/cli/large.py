"""Tables that are not held in memory, as the commands are given them: folders, patterns, addresses.

A folder of few rows is read whole, as a file is. A larger one, and any file of which ``--memory``
is said, is read piece by piece.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.reading import is_many_files, read_files
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    from sag_vicreg.artifacts import Embeddings, EmbeddingTable
    from sag_vicreg.decisions import Settings

Memory = Annotated[
    str | None,
    typer.Option(
        help="Read the files piece by piece, holding at most this much memory, such as 2GB; "
        "folders of more than 20,000 rows are always read this way.",
        show_default=False,
    ),
]

# Up to so many rows a table of many files is read whole.
_SMALL = 20_000


def open_large(
    files: Sequence[Path | str], columns: Columns, *, asked: bool
) -> "list[EmbeddingTable] | None":
    """Open tables that are not to be held, because that is asked for or because one is large.

    None where all of them are to be read whole.
    """
    from sag_vicreg.artifacts import open_table

    names = columns.of_each(len(files))
    many = {
        place: open_table(where, names=names[place])
        for place, where in enumerate(files)
        if asked or is_many_files(where)
    }
    if not asked and all(table.rows <= _SMALL for table in many.values()):
        return None
    return [
        many[place] if place in many else open_table(where, names=names[place])
        for place, where in enumerate(files)
    ]


def read_to_decide(
    files: Sequence[Path | str],
    columns: Columns,
    settings: "Settings",
    *,
    memory: str | None,
) -> "tuple[list[Embeddings], int | None]":
    """Read what a decision is made on: small files whole, of large tables only its items.

    Returns the sets, and how many rows the tables have of which they are a sample; None for files.
    """
    limit = None if memory is None else bytes_of(memory)
    tables = open_large(files, columns, asked=limit is not None)
    if tables is None:
        return read_files(files, columns), None
    from sag_vicreg.artifacts.table_samples import sample_tables
    from sag_vicreg.passes import Passes

    passes = Passes()
    if limit is not None:
        settings.check_memory([table.dimensions for table in tables], limit, threads=passes.count)
    return sample_tables(tables, settings.items, passes, seed=settings.seed), tables[0].rows


def bytes_of(text: str) -> int:
    """Read a number of bytes such as ``2GB`` or ``512MB``.

    Examples
    --------
    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000, 1610612736)
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?)b?\s*", text.lower())
    unit = 0 if match is None else (1024 if match[3] else 1000) ** " kmgt".index(match[2] or " ")
    size = 0.0 if match is None else float(match[1]) * unit
    if not 1 <= size < 2**63:
        raise InputError(f"--memory is '{text[:40]}': give a size such as 2GB or 512MB")
    return int(size)

"""``sag-vicreg compare`` for tables that are not held in memory: folders, patterns, addresses."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sag_vicreg.cli.columns import column_names
from sag_vicreg.cli.reading import is_many_files, short_names, warnings_as_lines
from sag_vicreg.cli.terminal import print_table

if TYPE_CHECKING:
    from sag_vicreg.artifacts import EmbeddingTable
    from sag_vicreg.structure import TableSimilarity

# Up to so many rows a table of many files is read whole and compared as a single file is.
_SMALL = 20_000


def open_tables(
    files: Sequence[str],
    *,
    vector_columns: list[str] | None,
    id_column: list[str] | None,
    label_column: list[str] | None,
    text_column: list[str] | None,
) -> "list[EmbeddingTable]":
    """Open tables whose columns are what the options say."""
    from sag_vicreg.artifacts import open_table

    columns = column_names(
        len(files),
        vector_columns=vector_columns,
        id_column=id_column,
        label_column=label_column,
        text_column=text_column,
    )
    return [open_table(where, names=each) for where, each in zip(files, columns, strict=True)]


def is_large(
    files: Sequence[str],
    *,
    vector_columns: list[str] | None,
    id_column: list[str] | None,
    label_column: list[str] | None,
    text_column: list[str] | None,
) -> bool:
    """Whether a folder or an address has too many rows to be compared in memory unasked."""
    if not any(is_many_files(where) for where in files):
        return False
    from sag_vicreg.artifacts import open_table

    columns = column_names(
        len(files),
        vector_columns=vector_columns,
        id_column=id_column,
        label_column=label_column,
        text_column=text_column,
    )
    return any(
        is_many_files(where) and open_table(where, names=names).rows > _SMALL
        for where, names in zip(files, columns, strict=True)
    )


def compare_large(
    tables: "Sequence[EmbeddingTable]",
    *,
    unused: dict[str, bool],
    as_json: bool,
    scheduler: str | None,
    options: dict[str, Any],
) -> None:
    """Compare two tables by forests with anchors, and print what was found.

    ``unused`` are the options that speak of single trees, and whether they were given.
    """
    from sag_vicreg.cluster import open_passes
    from sag_vicreg.errors import InputError
    from sag_vicreg.structure import compare_tables

    if len(tables) != 2:
        raise InputError(f"{len(tables)} large tables: compare two at a time")
    if given := next((option for option, was_given in unused.items() if was_given), None):
        raise InputError(
            f"{given} needs all rows in memory, and large tables are compared by forests with "
            "anchors: leave it out, or give a single file of fewer rows"
        )
    a, b = tables
    with warnings_as_lines():
        without = [table.name for table in tables if table.id_column is None]
        if len(without) == 1:
            warnings.warn(
                f"{without[0]} has no ids, so rows are matched by position; if the tables list "
                "their items in different orders, the scores mean nothing",
                stacklevel=2,
            )
        with open_passes(scheduler) as passes:
            found = compare_tables(a, b, passes=passes, **options)
    if as_json:
        content = {"files": [table.name for table in tables], **found.to_dict()}
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
    else:
        _print(found, short_names([Path(table.name) for table in tables]))


def _print(found: "TableSimilarity", names: tuple[str, ...]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from sag_vicreg.cli.compare_tables import titled_table
    from sag_vicreg.structure import table_verdict

    console = Console()
    sizes = " and ".join(str(size) for size in dict.fromkeys(found.dimensions))
    console.print(f"{escape(names[0])}  and  {escape(names[1])}", style="bold", highlight=False)
    console.print(table_verdict(found), highlight=False)
    console.print(
        f"n = {found.n:,}, matched by {found.matched_by} · {sizes} dimensions · geometry "
        f"{found.geometry} · {found.seconds:.1f} s\n",
        highlight=False,
    )
    table = titled_table(
        f"forest similarity: {found.sets} sets of {found.anchors:,} anchors, each with "
        f"{found.trees} trees of {found.leaves:,} leaves, distance {found.distance}",
        "",
        "Spearman",
        "Pearson",
    )
    low, high = found.interval
    table.add_row("corrected", f"{found.spearman:.4f}", f"{found.pearson:.4f}")
    table.add_row("  95 % interval, other anchors and trees", f"{low:.4f} to {high:.4f}", "")
    table.add_row("  twice the anchors would move it by", f"{found.twice_the_anchors:+.4f}", "")
    for which, value in zip(("first", "second"), found.reliability, strict=True):
        table.add_row(f"reliability, {which} table", f"{value:.4f}", "")
    for scale in found.by_scale:
        size = "" if scale.size is None else f", clusters of about {scale.size:,.0f}"
        table.add_row(f"closest {scale.share:.1%} of pairs{size}", f"{scale.similarity:.4f}", "")
    print_table(console, table)


def bytes_of(text: str) -> int:
    """Read a number of bytes such as ``2GB`` or ``512MB``.

    Examples
    --------
    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000, 1610612736)
    """
    import re

    from sag_vicreg.errors import InputError

    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if match is None or float(match[1]) <= 0:
        raise InputError(f"--memory is '{text}': give a size such as 2GB or 512MB")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " kmgt".index(match[2] or " "))

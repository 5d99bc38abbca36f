"""The options by which every command that reads embedding files is told what their columns are."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sag_vicreg.artifacts import ColumnNames

VectorColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--vector-columns",
        "--vector-column",
        help="Columns that hold the vectors, where that is ambiguous: names with commas, "
        "`dim_0:dim_127` or `'dim_*'`. Give it once for all files, or once per file.",
        metavar="NAMES",
    ),
]
IdColumn = Annotated[
    list[str] | None,
    typer.Option(help="Column of ids, if not `id`. Once, or once per file.", metavar="NAME"),
]
LabelColumn = Annotated[
    list[str] | None,
    typer.Option(help="Column of labels, if not `label`. Once, or once per file.", metavar="NAME"),
]
TextColumn = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of texts that describe the rows, shown where items are named. Once, or "
        "once per file, '' for a file without.",
        metavar="NAME",
    ),
]
Join = Annotated[
    str,
    typer.Option(
        help="What to do where ids do not agree: `exact` refuses, `inner` keeps the rows whose id "
        "every input has, and says how many were left out."
    ),
]


def column_names(
    count: int,
    *,
    vector_columns: list[str] | None,
    id_column: list[str] | None,
    label_column: list[str] | None,
    text_column: list[str] | None = None,
) -> "list[ColumnNames]":
    """Return what was said of the columns of each of ``count`` files."""
    from sag_vicreg.artifacts import ColumnNames

    options = {
        "vector_columns": vector_columns,
        "id_column": id_column,
        "label_column": label_column,
        "text_column": text_column,
    }
    each = [_for_each(name, given or [], count) for name, given in options.items()]
    return [ColumnNames(*said) for said in zip(*each, strict=True)]


def _for_each(name: str, given: list[str], count: int) -> list[str] | list[None]:
    from sag_vicreg.errors import InputError

    if not given:
        return [None] * count
    if len(given) not in (1, count):
        raise InputError(
            f"{len(given)} --{name.replace('_', '-')} for {count} inputs: "
            "give it once for all, or once for each in their order"
        )
    return given * count if len(given) == 1 else given

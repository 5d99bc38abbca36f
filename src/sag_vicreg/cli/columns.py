"""The options by which every command that reads embedding files is told what their columns are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sag_vicreg.artifacts import ColumnNames

Join = Annotated[
    str,
    typer.Option(
        help="What to do where ids do not agree: `exact` refuses, `inner` keeps the rows whose id "
        "every input has, and says how many were left out."
    ),
]


@dataclass(frozen=True)
class Columns:
    """What was said of the columns of all files."""

    vector_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--vector-columns",
            "--vector-column",
            help="Columns that hold the vectors, where that is ambiguous: names with commas, "
            "`dim_0:dim_127` or `'dim_*'`. Give it once for all files, or once per file with '' "
            "where it is plain.",
            metavar="NAMES",
        ),
    ] = None
    id_column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of ids, if not `id`. Give it once, or once per file where they differ, "
            "with '' for `id`.",
            metavar="NAME",
        ),
    ] = None
    label_column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of labels, if not `label`. Give it once, or once per file where they "
            "differ, with '' for `label`.",
            metavar="NAME",
        ),
    ] = None

    def of_each(self, count: int) -> "list[ColumnNames]":
        """Return what was said of each of ``count`` files."""
        from sag_vicreg.artifacts import ColumnNames

        each = [_for_each(name, given or [""], count) for name, given in vars(self).items()]
        return [ColumnNames(*said) for said in zip(*each, strict=True)]


@dataclass(frozen=True)
class ColumnsWithText(Columns):
    """The same for a command that shows the texts of items."""

    text_column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of texts that describe the rows, shown where items are named. Give it "
            "once, or once per file, with '' for a file that has none.",
            metavar="NAME",
        ),
    ] = None


def _for_each(name: str, given: list[str], count: int) -> list[str | None]:
    """Return what an option says of each file; nothing of one for which it is empty."""
    from sag_vicreg.errors import InputError

    if len(given) not in (1, count):
        raise InputError(
            f"{len(given)} --{name.replace('_', '-')} for {count} inputs: "
            "give it once for all, or once for each in their order"
        )
    return [said or None for said in (given * count if len(given) == 1 else given)]

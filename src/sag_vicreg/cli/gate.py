"""``sag-vicreg gate``: may NEW take the place of OLD? The exit code says it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sag_vicreg.cli.columns import ColumnsWithText
from sag_vicreg.cli.deciding import COLOURS, ForestOptions
from sag_vicreg.cli.large import Memory, read_to_decide
from sag_vicreg.cli.options import AsJson, check_outputs, with_groups
from sag_vicreg.cli.reading import join_files, short_names, warnings_as_lines
from sag_vicreg.cli.terminal import open_console, print_json, print_table, titled_table

if TYPE_CHECKING:
    from rich.console import Console

    from sag_vicreg.decisions import Decision


@with_groups
def gate(
    old: Annotated[str, typer.Argument(help="The embeddings in use.", metavar="OLD")],
    new: Annotated[
        str, typer.Argument(help="The embeddings that may replace them.", metavar="NEW")
    ],
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="How much of the forest similarity may be lost, 0.02 by default.",
            show_default=False,
        ),
    ] = None,
    floor: Annotated[
        Path | None,
        typer.Option(help="A floor written by `calibrate`, in place of a tolerance."),
    ] = None,
    *,
    forests: ForestOptions,
    columns: ColumnsWithText,
    memory: Memory = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the decision as Markdown, for a pull request.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write the decision as a JUnit test report.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide whether NEW keeps the structure of OLD.

    Exits with 0 for pass, 1 for fail, 3 for undecided, 2 for bad input. The corrected forest
    similarity decides. It passes where its 95 percent interval lies above 1 - tolerance and fails
    where it lies below; with a floor, it fails below the lowest score of the floor.

    Example: `sag-vicreg gate old.npy new.parquet --markdown verdict.md`
    """
    from sag_vicreg.artifacts import write_text
    from sag_vicreg.cli.compare_tables import print_notes
    from sag_vicreg.decisions import (
        Floor,
        Naming,
        check_set,
        decision_junit,
        decision_markdown,
        moved_lines,
    )
    from sag_vicreg.decisions import gate as decide

    files = [old, new]
    check_outputs(markdown, junit, inputs=[*files, floor])
    names = short_names(files)
    known = None if floor is None else Floor.read(floor)
    settings = forests.settings(known)
    read, rows = read_to_decide(files, columns, settings, memory=memory)
    checks = [check_set(each, name) for each, name in zip(read, names, strict=True)]
    with warnings_as_lines():
        joined = join_files(read, files)
        decision = decide(
            *(each.vectors for each in joined.sets),
            tolerance=tolerance,
            floor=known,
            settings=settings,
            names=(names[0], names[1]),
            sampled_of=rows,
        )
    naming = Naming.of(joined)
    moved = moved_lines(decision.moved, naming)
    for path, written in ((markdown, decision_markdown), (junit, decision_junit)):
        if path is not None:
            write_text(path, written(decision, moved))
    if as_json:
        print_json(
            decision.to_dict()
            | {
                "matched_by": joined.by,
                "checks": [each.to_dict() for each in checks],
                "movements": naming.to_dict(decision.moved),
            }
        )
    else:
        console = open_console()
        _print(console, decision, moved, joined.by)
        print_notes(console, checks)
    raise typer.Exit(decision.exit_code)


def _print(console: "Console", decision: "Decision", lines: list[str], joined_by: str) -> None:
    """Print the verdict, the table and what moved."""
    console.print(decision.sentence, style=f"bold {COLOURS[decision.outcome]}")
    if decision.caution:
        console.print(decision.caution)
    console.print(f"{decision.basis}; rows matched by {joined_by}")
    table = titled_table(None, ("", ""), decision.rows())
    table.show_header = False
    print_table(console, table)
    console.print("\n".join(lines))

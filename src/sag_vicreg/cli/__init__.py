"""The ``sag-vicreg`` command.

Each command is a module of a few lines that calls a room. Command modules import nothing heavy at
the top, so ``--help`` answers at once and works without PyTorch.
"""

from typing import Annotated

import typer

from sag_vicreg import __version__
from sag_vicreg.cli import (
    bench,
    compare,
    datasets,
    demo,
    embed,
    evaluate,
    figure,
    report,
    reproduce,
    train,
)
from sag_vicreg.cli.group import OneLineErrors

app = typer.Typer(
    name="sag-vicreg",
    cls=OneLineErrors,
    help="SAG-VICReg: train by random-walk pairing, and compare embeddings by their trees.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sag-vicreg {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


app.add_typer(bench.app, name="bench")
app.add_typer(datasets.app, name="datasets")
app.command("figure")(figure.figure)
app.command("demo")(demo.demo)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("train")(train.train)
app.command("embed")(embed.embed)
app.command("evaluate")(evaluate.evaluate)
app.command("reproduce")(reproduce.reproduce)


def main() -> None:
    """Run the command line."""
    app()

"""The ``sag-vicreg`` command.

Each command is a module of a few lines that calls a subpackage. Command modules import nothing
heavy at the top, so ``--help`` answers at once and works without PyTorch.
"""

import atexit
import gc
from typing import Annotated

import typer

from sag_vicreg import __version__
from sag_vicreg.cli import (
    calibrate,
    check,
    compare,
    datasets,
    demo,
    embed,
    evaluate,
    export,
    figure,
    gate,
    removed,
    report,
    reproduce,
    selftest,
    sweep,
    train,
)
from sag_vicreg.cli.group import OneLineErrors
from sag_vicreg.cli.terminal import prepare_streams

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


# The help lists them in this order: files of embeddings first, then training, then the paper.
for command in (
    check.check,
    gate.gate,
    compare.compare,
    report.report,
    calibrate.calibrate,
    selftest.selftest,
    sweep.sweep,
    demo.demo,
    train.train,
    embed.embed,
    export.export,
    evaluate.evaluate,
    reproduce.reproduce,
    figure.figure,
):
    app.command()(command)
app.add_typer(datasets.app, name="datasets")
app.command(
    "bench",
    hidden=True,
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(removed.bench)


def main() -> None:
    """Run the command line."""
    # The last collection would go through every object there is, a quarter of a second in vain.
    atexit.register(gc.freeze)
    prepare_streams()
    app()

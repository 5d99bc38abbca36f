"""``sag-vicreg demo``: the whole path on drawn images, without data or network."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.errors import require_train_extra


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the runs and the page.")] = Path("demo"),
    scale: Annotated[
        str, typer.Option(help="`cpu` (minutes) or `smoke` (seconds, only to see that it works).")
    ] = "cpu",
) -> None:
    """Train VICReg and SAG-VICReg on drawn shapes, compare them, and write a report page.

    Four small models, two tables, one page, in under four minutes on two cores; started again, it
    goes on where it stopped. The path of the page is the last line.

    `sag-vicreg demo --out demo`
    """
    require_train_extra("demo")
    from sag_vicreg.demo import run_demo

    typer.echo(str(run_demo(out, scale=scale)))

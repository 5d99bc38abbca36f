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

    Four small models, two tables and one page take under four minutes on two cores. Run again, it
    continues where it stopped. The last line printed is the path of the page.

    Example: `sag-vicreg demo --out demo`
    """
    require_train_extra("demo")
    from sag_vicreg.demo import run_demo

    typer.echo(str(run_demo(out, scale=scale)))

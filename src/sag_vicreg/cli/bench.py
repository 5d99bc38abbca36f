"""``sag-vicreg bench``: measurements against peers, each with the targets it is held to."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.errors import require_train_extra

app = typer.Typer(
    help="Measure against peers; every ratio comes from one run.", no_args_is_help=True
)

Repeats = Annotated[int, typer.Option(help="Repetitions; medians are compared.", min=1)]
Out = Annotated[Path | None, typer.Option(help="Write the result here as JSON.")]


@app.command()
def views(repeats: Repeats = 5, out: Out = None) -> None:
    """Count views per second on one core, against lightly's VICRegTransform.

    Example: `sag-vicreg bench views --out benchmarks/views.json`
    """
    require_train_extra("bench views")
    from sag_vicreg.bench.views import run

    run(repeats=repeats).report(out)


@app.command()
def loss(repeats: Repeats = 7, out: Out = None) -> None:
    """Time SAG-VICReg's loss against lightly's VICReg and the d x d covariance, and its memory.

    Example: `sag-vicreg bench loss --out benchmarks/loss.json`
    """
    require_train_extra("bench loss")
    from sag_vicreg.bench.loss import run

    run(repeats=repeats).report(out)

"""``sag-vicreg export``: a trained backbone as a folder for the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.errors import require_train_extra


def export(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    out: Annotated[Path, typer.Option(help="A new folder, ready to be uploaded.")],
) -> None:
    """Write a backbone with its model card in the layout of the Hugging Face hub.

    `sag-vicreg export runs/sag --out hub/sag`
    """
    require_train_extra("export")
    from sag_vicreg.artifacts import Run
    from sag_vicreg.training.hub import export_to_hub

    export_to_hub(Run(run), out)
    typer.echo(f"exported {run}: {out}")

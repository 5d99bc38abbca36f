"""``sag-vicreg datasets``: what there is, where it is, and what it looks like."""

import json
from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.terminal import open_console, print_table
from sag_vicreg.errors import InputError, require_train_extra, visible

app = typer.Typer(invoke_without_command=True)

Root = Annotated[
    Path | None,
    typer.Option(help="The dataset's folder or the one above it. Default: $SAG_VICREG_DATA."),
]


@app.callback()
def datasets(
    ctx: typer.Context,
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the datasets, where each was looked for, and what is missing.

    Example: `sag-vicreg datasets --root ~/data`
    """
    if ctx.invoked_subcommand is not None:
        return
    require_train_extra("datasets")
    from dataclasses import asdict

    from rich.table import Column, Table
    from rich.text import Text

    from sag_vicreg.data import available

    found = available(root)
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in found], indent=2))
        return
    columns = (Column(name, overflow="fold") for name in ("name", "what", "where"))
    table = Table(*columns, box=None, pad_edge=False)
    for entry in found:
        where = Text(visible(entry.problem), "dim") if entry.problem else entry.where
        table.add_row(entry.name, entry.summary, where)
    print_table(open_console(), table)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A dataset's name, folder:, parquet: or arrow:PATH.")],
    out: Annotated[Path, typer.Option(help="Where to draw: .png, .svg or .pdf.")],
    root: Root = None,
    split: Annotated[str, typer.Option(help="train, test or all.")] = "train",
    views: Annotated[
        str, typer.Option(help="Method whose views to show beside the images.")
    ] = "vicreg",
    rows: Annotated[int, typer.Option(help="Classes to show.", min=1)] = 12,
    columns: Annotated[int, typer.Option(help="Images of each class.", min=1)] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Decides which images and which views.")] = 0,
) -> None:
    """Draw a labelled contact sheet: images of some classes, and views of the first of each.

    Example: `sag-vicreg datasets show shapes --out sheet.png`
    """
    require_train_extra("datasets show")
    from sag_vicreg.data.samples import sample_images_and_views
    from sag_vicreg.figures.contact_sheet import draw_contact_sheet
    from sag_vicreg.figures.style import check_figure_path

    check_figure_path(out)
    labels, groups = sample_images_and_views(
        name, root=root, split=split, kind=views, rows=rows, columns=columns, seed=seed
    )
    draw_contact_sheet(labels, groups, out, title=f"{name}, {split}")
    typer.echo(f"wrote {out}")


@app.command()
def download(
    name: Annotated[str, typer.Argument(help="cifar100; the others have no public download.")],
    root: Annotated[Path, typer.Option(help="The folder to put it in.", envvar="SAG_VICREG_DATA")],
) -> None:
    """Download a dataset, its published checksums verified.

    Example: `sag-vicreg datasets download cifar100 --root ~/data`
    """
    require_train_extra("datasets download")
    from sag_vicreg.data.sources.cifar100 import download_cifar100

    if name != "cifar100":
        raise InputError(f"{name} cannot be downloaded from here, only cifar100 can")
    download_cifar100(root / name)
    typer.echo(f"cifar100 is in {root / name}")

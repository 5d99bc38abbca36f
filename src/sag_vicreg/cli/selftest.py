"""``sag-vicreg selftest``: which changes of a file the gate would catch."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.deciding import ForestOptions, coloured
from sag_vicreg.cli.options import AsJson, with_groups
from sag_vicreg.cli.reading import read_files
from sag_vicreg.cli.terminal import open_console, print_json, print_table


@with_groups
def selftest(
    file: Annotated[Path, typer.Argument(help="An embedding file.")],
    tolerance: Annotated[float, typer.Option(help="Tolerance of the gate.")] = 0.02,
    *,
    forests: ForestOptions,
    columns: Columns,
    as_json: AsJson = False,
) -> None:
    """Plant known changes in a file, and print which the gate catches at which size.

    A rotation must pass. Noise, quantisation, projection, shuffled rows and scattered clusters
    should fail from some size on: the table says from which, for this file.

    Example: `sag-vicreg selftest old.npy --items 1000`
    """
    from rich import box
    from rich.table import Column, Table

    from sag_vicreg.decisions import selftest as plant

    (read,) = read_files([file], columns)
    settings = forests.settings()
    found = plant(read.vectors, tolerance=tolerance, settings=settings, name=file.name)
    if as_json:
        print_json(found.to_dict())
        return
    console = open_console()
    items = found.planted[0].decision.similarity.items
    words = (Column(head, no_wrap=True) for head in ("planted", "size", "gate"))
    numbers = (
        Column(head, justify="right", no_wrap=True)
        for head in ("forest", "95 % interval", "shared")
    )
    table = Table(
        *words,
        *numbers,
        title=f"{file.name}: {items:,} items, {settings.trees} trees, tolerance {tolerance:g}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,  # so that every head fits 80 columns
    )
    first = {each.change: each for each in reversed(found.planted)}
    for each in found.planted:
        score = each.decision.similarity
        table.add_row(
            each.change if each is first[each.change] else "",
            each.size,
            coloured(each.decision.outcome),
            f"{score.spearman:.3f}",
            f"{score.interval[0]:.2f} to {score.interval[1]:.2f}",
            f"{each.decision.neighbors_shared:.0%}",
        )
    print_table(console, table)
    console.print(
        "noise: share of the set's spread; projection: to this many dimensions; "
        "shared: 10 nearest neighbours in both"
    )

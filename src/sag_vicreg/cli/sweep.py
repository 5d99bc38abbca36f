"""``sag-vicreg sweep``: the cheapest way to store a file that keeps its structure."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.deciding import ForestOptions, coloured
from sag_vicreg.cli.options import AsJson, check_outputs, save_plot, whole_numbers, with_groups
from sag_vicreg.cli.reading import read_files
from sag_vicreg.cli.terminal import open_console, print_json, print_table

if TYPE_CHECKING:
    from sag_vicreg.decisions import Sweep


@with_groups
def sweep(
    file: Annotated[Path, typer.Argument(help="An embedding file.")],
    dims: Annotated[
        str,
        typer.Option(help="Dimensions to try, such as 32,64,128; the full number is always tried."),
    ] = "",
    precision: Annotated[
        str, typer.Option(help="Precisions to try: any of float32, float16, int8 and binary.")
    ] = "float32,float16,int8,binary",
    tolerance: Annotated[float, typer.Option(help="Tolerance of the gate.")] = 0.02,
    write: Annotated[
        Path | None,
        typer.Option(help="Save the chosen vectors, with ids and labels, to this .npz."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw structure against bytes to this .png, .svg or .pdf.")
    ] = None,
    *,
    forests: ForestOptions,
    columns: Columns,
    as_json: AsJson = False,
) -> None:
    """Try fewer dimensions and fewer bits, and name the cheapest that the gate passes.

    Each number of dimensions is reached by PCA and by keeping the first ones (Matryoshka), and
    every way is compared with the full file by one shared forest.

    Example: `sag-vicreg sweep old.npy --dims 4,8 --precision float32,int8 --plot sweep.png`
    """
    import numpy as np

    from sag_vicreg.artifacts import atomic_path
    from sag_vicreg.decisions import sweep as try_all
    from sag_vicreg.errors import InputError
    from sag_vicreg.figures.sweep import Stored, draw_sweep

    remedy = "give whole numbers with commas, such as 32,64,128"
    numbers = whole_numbers("--dims", dims, remedy)
    if write is not None and write.suffix.lower() != ".npz":
        raise InputError(f"cannot write {write}: the name must end in .npz")
    check_outputs(write, plot=plot, inputs=[file])
    (read,) = read_files([file], columns)
    found = try_all(
        read.vectors,
        dims=numbers,
        precisions=[each.strip() for each in precision.split(",") if each.strip()],
        tolerance=tolerance,
        settings=forests.settings(),
        name=file.name,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    if plot is not None:
        points = [
            Stored(
                each.precision,
                each.reduction,
                each.bytes,
                each.decision.similarity.spearman,
                each.decision.similarity.interval,
                each is found.chosen,
            )
            for each in found.candidates
        ]
        save_plot(draw_sweep(points, threshold=1 - tolerance), plot)
    if write is not None:
        if found.stored is None:
            raise InputError(f"{found.sentence()} Nothing is written to {write}")
        named = (("ids", read.ids), ("labels", read.labels))
        known: dict[str, Any] = {name: each for name, each in named if each is not None}
        with atomic_path(write) as temporary:
            np.savez(temporary, vectors=found.stored, **known)
        typer.echo(f"wrote {write}", err=True)


def _print(found: "Sweep") -> None:
    from rich.table import Column, Table

    console = open_console()
    console.print(found.sentence(), style="bold")
    right = partial(Column, justify="right", no_wrap=True)
    table = Table(
        right("bytes"),
        "stored as",
        *map(right, ("gate", "forest", "95 % interval", "shared", "recall@10")),
    )
    for each in found.candidates:
        score = each.decision.similarity
        table.add_row(
            f"{each.bytes:,}",
            f"{each.dims} {each.reduction} {each.precision}",
            coloured(each.decision.outcome),
            f"{score.spearman:.4f}",
            f"{score.interval[0]:.4f} to {score.interval[1]:.4f}",
            f"{each.decision.neighbors_shared:.1%}",
            f"{each.recall:.1%}",
            style="bold" if each is found.chosen else None,
        )
    print_table(console, table)
    console.print(
        "forest: similarity to the full set; shared: 10 nearest neighbours among the items "
        "compared; recall@10: the same among all rows"
    )
    for reason in found.left_out:
        console.print(f"left out: {reason}")

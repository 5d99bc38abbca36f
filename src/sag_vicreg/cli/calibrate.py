"""``sag-vicreg calibrate``: how far apart sets lie that should count as no change."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.deciding import ForestOptions
from sag_vicreg.cli.large import Memory, read_to_decide
from sag_vicreg.cli.options import AsJson, check_outputs, with_groups
from sag_vicreg.cli.reading import join_files, short_names, warnings_as_lines
from sag_vicreg.cli.terminal import print_json


@with_groups
def calibrate(
    files: Annotated[
        list[str],
        typer.Argument(help="Two or more embedding files of the same items.", metavar="FILES"),
    ],
    out: Annotated[Path, typer.Option(help="The floor to write.")] = Path("floor.json"),
    *,
    forests: ForestOptions,
    columns: Columns,
    memory: Memory = None,
    as_json: AsJson = False,
) -> None:
    """Write a floor for `gate` from sets that should count as "no change".

    Such sets are re-embeddings, other seeds of one model or other precisions. Every two are
    compared, and the gate then fails whatever scores below all of them. It works best if OLD is one
    of the files: with 19 others, at most 5 percent of unchanged sets fail.

    Example: `sag-vicreg calibrate old.npy rerun1.npy rerun2.npy --out floor.json`
    """
    from sag_vicreg.decisions import calibrate as make_floor
    from sag_vicreg.errors import InputError

    if len(files) < 2:
        raise InputError(f"{len(files)} file given: a floor needs at least two")
    check_outputs(out, inputs=files)
    settings = forests.settings()
    read, _ = read_to_decide(files, columns, settings, memory=memory)
    with warnings_as_lines():
        vectors = [each.vectors for each in join_files(read, files).sets]
        floor = make_floor(vectors, settings=settings, names=short_names(files))
    floor.write(out)
    if as_json:
        print_json(asdict(floor))
        return
    count, lowest = len(floor.names), floor.limit()
    typer.echo(f"floor {lowest.score:.4f}, the {lowest.sentence()}")
    typer.echo(
        f"that holds where neither OLD nor NEW is one of the {count} files; where OLD is, at most "
        f"{1 / count:.1%} would"
    )
    typer.echo(f"{floor.items:,} items; wrote {out}")

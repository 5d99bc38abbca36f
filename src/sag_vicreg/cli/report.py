"""``sag-vicreg report``: one page about runs, embedding files or a reproduction."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.columns import ColumnsWithText, Join
from sag_vicreg.cli.options import with_groups
from sag_vicreg.cli.own_measures import OwnMeasures


@with_groups
def report(
    sources: Annotated[
        list[str],
        typer.Argument(help="Run folders, embedding files, or folders of runs and results."),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    hierarchy: Annotated[
        str | None,
        typer.Option(help="Class tree: a packaged name or a CSV file. Default: the dataset's."),
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(help="Which embedding file of each run to show: its name without .parquet."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    max_points: Annotated[
        int, typer.Option(help="Show at most this many items on the map.")
    ] = 10_000,
    trees: Annotated[
        int,
        typer.Option(
            help="Trees of the forest similarity, a multiple of 4; 0 leaves it out.", min=0
        ),
    ] = 100,
    half_samples: Annotated[
        int, typer.Option(help="Random halves behind the spread of single trees; 0 for none.")
    ] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of maps, samples and forests.")] = 0,
    clusters: Annotated[
        bool,
        typer.Option(
            "--clusters",
            help="For one or two tables of any size (folders, patterns, addresses, files): also "
            "draw a tree of all rows, branch by branch; the rest shows --max-points random rows.",
        ),
    ] = False,
    *,
    columns: ColumnsWithText,
    join: Join = "exact",
    measure: OwnMeasures = None,
) -> None:
    """Write one self-contained HTML page: scores, trees, maps, neighbours, training, recipe.

    The page needs no network and no server. Embedding files of the same items are compared, with
    the verdict first; a run also shows its training; a folder of runs shows all of them.

    Example: `sag-vicreg report runs/vicreg runs/sag-vicreg --out report.html`
    """
    from sag_vicreg.report import build_report

    page = build_report(
        sources,
        out,
        hierarchy=hierarchy,
        embeddings=embeddings,
        title=title,
        max_points=max_points,
        trees=trees,
        half_samples=half_samples,
        seed=seed,
        join=join,
        clusters=clusters,
        measures=measure or (),
        columns=columns.of_each(len(sources)),
    )
    typer.echo(str(page))

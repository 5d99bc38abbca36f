"""``sag-vicreg report``: one page about runs, embedding files or a reproduction."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Run folders, embedding files, or folders of runs and results."),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    hierarchy: Annotated[
        str | None,
        typer.Option(help="Class tree: a packaged name or a CSV file. Default: the dataset's."),
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(help="Which embedding file of the runs, without .parquet."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    max_points: Annotated[int, typer.Option(help="Most images on the map.")] = 10_000,
    half_samples: Annotated[
        int, typer.Option(help="Random halves behind each spread; 0 for none.")
    ] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Of maps and samples.")] = 0,
) -> None:
    """Write one self-contained HTML page: scores, trees, maps, neighbours, training, recipe.

    The page needs no network and no server. Two embedding files of the same images are compared;
    a run shows its training; a folder of runs shows them all.

    `sag-vicreg report runs/vicreg runs/sag-vicreg --out report.html`
    """
    from sag_vicreg.report import build_report

    page = build_report(
        sources,
        out,
        hierarchy=hierarchy,
        embeddings=embeddings,
        title=title,
        max_points=max_points,
        half_samples=half_samples,
        seed=seed,
    )
    typer.echo(str(page))

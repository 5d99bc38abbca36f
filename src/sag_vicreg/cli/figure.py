"""`sag-vicreg figure`: the paper's figures."""

from pathlib import Path
from typing import Annotated

import typer


def figure(
    name: Annotated[
        str,
        typer.Argument(
            help="spectral, query, pairs, rand-levels, rand-clusters, separability, centroids, "
            "reconstructions (of an MAE); or the printed number: 1, 2, 3, 4a, 4b, 5, 6."
        ),
    ],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, results for rand-*, or what an earlier figure kept."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to draw: .png, .svg or .pdf.  [default: NAME.png]")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset to embed.")] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="all, first or second half; by default the half not trained on."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="Id of the query image; by default one is drawn.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Neighbours, pairs or images to show.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of whatever is drawn at random.")] = 0,
) -> None:
    """Draw a figure of the paper from trained models and saved results.

    Its data is kept beside it as NAME.npz, from which it can be drawn again without the models.

    Example: `sag-vicreg figure separability --out figure5.png`
    """
    from sag_vicreg.cli.options import check_outputs
    from sag_vicreg.figures.data import SUFFIX
    from sag_vicreg.figures.style import save_figure
    from sag_vicreg.reproduce.drawings import FigureSources, draw_figure, figure_name

    figure = figure_name(name)
    out = out or Path(f"{name}.png")
    check_outputs(plot=out, inputs=runs or ())
    sources = FigureSources(runs or (), dataset, classes, query, seed, count)
    save_figure(draw_figure(figure, sources, keep=out.with_suffix(SUFFIX)), out)
    typer.echo(f"wrote {out}")

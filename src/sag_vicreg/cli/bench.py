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


@app.command()
def structure(
    n: Annotated[int, typer.Option(help="Rows of each set.", min=100)] = 10_000,
    repeats: Repeats = 3,
    out: Out = None,
) -> None:
    """Compare two sets by their trees, against SciPy and fastcluster.

    Example: `sag-vicreg bench structure --out benchmarks/structure.json`
    """
    from sag_vicreg.bench.structure import run

    run(n=n, repeats=repeats).report(out)


@app.command()
def structure_large(
    n: Annotated[int, typer.Option(help="Rows of each set.", min=100)] = 50_000,
    geometry: Annotated[str, typer.Option(help="cosine, spherical or euclidean.")] = "spherical",
    out: Out = None,
) -> None:
    """Measure the time and memory of one comparison that no peer can do.

    Example: `sag-vicreg bench structure-large --n 100000 --geometry spherical`
    """
    from sag_vicreg.bench.structure import run_large

    run_large(n=n, geometry=geometry).report(out)


@app.command()
def training(
    repeats: Repeats = 5,
    out: Out = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the walk's share by batch size here.")
    ] = None,
) -> None:
    """Time the walk inside a training step, and whole steps against a lightly pipeline.

    Example: `sag-vicreg bench training --out benchmarks/training.json --figure share.svg`
    """
    require_train_extra("bench training")
    from sag_vicreg.bench.training import run

    run(repeats=repeats, figure=figure).report(out)


@app.command()
def evaluation(
    points: Annotated[int, typer.Option(help="Training points.", min=1000)] = 50_000,
    queries: Annotated[int, typer.Option(help="Test points.", min=100)] = 10_000,
    rand_points: Annotated[int, typer.Option(help="Points to cluster.", min=500)] = 10_000,
    repeats: Repeats = 3,
    out: Out = None,
) -> None:
    """Score embeddings at four levels, against scikit-learn: k-NN, linear probe, Rand index.

    scikit-learn's regressions and spectral clusterings run once, ours repeat. Its clusterings
    factorise a matrix: a minute or two for 3,000 points, far more for 10,000.

    Example: `sag-vicreg bench evaluation --rand-points 3000 --out benchmarks/evaluation.json`
    """
    from sag_vicreg.bench.evaluation import run

    run(points=points, queries=queries, rand_points=rand_points, repeats=repeats).report(out)

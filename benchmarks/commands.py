"""``python -m benchmarks``: measurements against peers, each with the targets it is held to."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.group import OneLineErrors
from sag_vicreg.errors import require_train_extra

app = typer.Typer(
    cls=OneLineErrors,
    help="Measure against peers; every ratio comes from one run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Repeats = Annotated[int, typer.Option(help="Repetitions; medians are compared.", min=1)]
Out = Annotated[Path | None, typer.Option(help="Write the result here as JSON.")]


@app.command()
def views(repeats: Repeats = 5, out: Out = None) -> None:
    """Count views per second on one core, against lightly's VICRegTransform.

    Example: `python -m benchmarks views --out benchmarks/results/views.json`
    """
    require_train_extra("benchmarks views")
    from benchmarks.views import run

    run(repeats=repeats).report(out)


@app.command()
def loss(repeats: Repeats = 7, out: Out = None) -> None:
    """Time SAG-VICReg's loss against lightly's VICReg and the d x d covariance, and its memory.

    Example: `python -m benchmarks loss --out benchmarks/results/loss.json`
    """
    require_train_extra("benchmarks loss")
    from benchmarks.loss import run

    run(repeats=repeats).report(out)


@app.command()
def structure(
    n: Annotated[int, typer.Option(help="Rows of each set.", min=100)] = 10_000,
    repeats: Repeats = 3,
    out: Out = None,
) -> None:
    """Compare two sets by their trees, against SciPy and fastcluster.

    Example: `python -m benchmarks structure --out benchmarks/results/structure.json`
    """
    from benchmarks.structure import run

    run(n=n, repeats=repeats).report(out)


@app.command()
def structure_large(
    n: Annotated[int, typer.Option(help="Rows of each set.", min=100)] = 50_000,
    geometry: Annotated[str, typer.Option(help="cosine, spherical or euclidean.")] = "spherical",
    out: Out = None,
) -> None:
    """Measure the time and memory of one comparison that no peer can do.

    Example: `python -m benchmarks structure-large --n 100000 --geometry spherical`
    """
    from benchmarks.structure import run_large

    run_large(n=n, geometry=geometry).report(out)


@app.command()
def forest(
    n: Annotated[int, typer.Option(help="Rows of each set.", min=100)] = 10_000,
    loop_n: Annotated[int, typer.Option(help="Rows of the SciPy loop.", min=100)] = 2_000,
    repeats: Repeats = 1,
    out: Out = None,
) -> None:
    """Time the forest similarity against single trees and the SciPy loop, and a first number.

    Example: `python -m benchmarks forest --out benchmarks/results/forest.json`
    """
    from benchmarks.forest import run

    run(n=n, loop_n=loop_n, repeats=repeats).report(out)


@app.command()
def coverage(
    repetitions: Annotated[int, typer.Option(help="Draws whose interval is tried.", min=1)] = 500,
    draws: Annotated[int, typer.Option(help="Draws whose mean is the truth.", min=2)] = 60,
    out: Out = None,
) -> None:
    """Count how often the interval of a forest similarity covers the truth; twenty minutes.

    Example: `python -m benchmarks coverage --out benchmarks/results/coverage.json`
    """
    from benchmarks.coverage import run

    run(repetitions=repetitions, draws=draws).report(out)


@app.command()
def training(
    repeats: Repeats = 5,
    out: Out = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the walk's share by batch size here.")
    ] = None,
) -> None:
    """Time the walk inside a training step, and whole steps against a lightly pipeline.

    Example: `python -m benchmarks training --out benchmarks/results/training.json`
    """
    require_train_extra("benchmarks training")
    from benchmarks.training import run

    run(repeats=repeats, figure=figure).report(out)


@app.command()
def latency(repeats: Repeats = 5, out: Out = None) -> None:
    """Time what a person waits for: the bare command, an import, drawn images, a hover in a page.

    The page of 10,032 points needs a Chromium, and a minute or two to be made.

    Example: `python -m benchmarks latency --out benchmarks/results/latency.json`
    """
    require_train_extra("benchmarks latency")
    from benchmarks.latency import run

    run(repeats=repeats).report(out)


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

    Example: `python -m benchmarks evaluation --rand-points 3000`
    """
    from benchmarks.evaluation import run

    run(points=points, queries=queries, rand_points=rand_points, repeats=repeats).report(out)


@app.command()
def scale(
    rows: Annotated[int, typer.Option(help="Rows of each table.", min=20_000)] = 1_000_000,
    dimensions: Annotated[int, typer.Option(help="Of each vector.", min=2)] = 128,
    memory: Annotated[float, typer.Option(help="Gigabytes to hold at most.", min=0.1)] = 4.0,
    out: Out = None,
) -> None:
    """Compare two tables on disk, against what fits into memory with SciPy, and DuckDB's join.

    Example: `python -m benchmarks scale --out benchmarks/results/scale.json`
    """
    from benchmarks.scale import run

    run(rows=rows, dimensions=dimensions, memory=int(memory * 1e9)).report(out)


@app.command()
def scale_accuracy(
    rows: Annotated[int, typer.Option(help="Rows of each drawn set.", min=10_000)] = 100_000,
    anchors: Annotated[int, typer.Option(help="In every tree of a set.", min=50)] = 1_000,
    leaves: Annotated[int, typer.Option(help="Of each tree.", min=100)] = 5_000,
    trees: Annotated[int, typer.Option(help="Of each set of anchors.", min=4)] = 40,
    out: Out = None,
) -> None:
    """Score forests with anchors against plain forests; CIFAR-100 where `$SAG_VICREG_DATA` is set.

    Example: `python -m benchmarks scale-accuracy --out benchmarks/results/scale-accuracy.json`
    """
    from benchmarks.scale_accuracy import run

    run(rows=rows, anchors=anchors, leaves=leaves, trees=trees).report(out)


@app.command()
def clusters(
    rows: Annotated[int, typer.Option(help="Rows of each drawn set.", min=1_000)] = 100_000,
    clusters: Annotated[int, typer.Option(help="Micro-clusters of each set.", min=10)] = 5_000,
    out: Out = None,
) -> None:
    """Measure how far trees of micro-clusters are from exact trees; CIFAR-100 where it is.

    Example: `python -m benchmarks clusters --out benchmarks/results/clusters.json`
    """
    from benchmarks.clusters import run

    run(rows=rows, clusters=clusters).report(out)


@app.command()
def damage(
    out: Out = None,
    docs: Annotated[
        Path | None,
        typer.Option(help="Rewrite the figure and the tables of the pages in this folder."),
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Measure nothing: take the scores from this file.")
    ] = None,
) -> None:
    """Try the forest similarity and four other measures on planted damage; fifteen minutes.

    Example: `python -m benchmarks damage --out benchmarks/results/damage.json --docs docs`
    """
    from benchmarks.damage import measure, read_record
    from benchmarks.damage.figure import draw
    from benchmarks.damage.page import results, write_pages

    record = read_record(recorded) if recorded else measure()
    print(results(record))
    if out is not None:
        record.write(out)
    if docs is not None:
        write_pages(record, docs)
        draw(record.rows, docs / "images" / "metric-proof.png")


@app.command()
def kills(
    kills: Annotated[int, typer.Option(help="Processes to kill.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Of the moments.", min=0)] = 0,
    out: Out = None,
) -> None:
    """Kill trainings at random moments, resume them, and compare with undisturbed ones.

    Example: `python -m benchmarks kills --out benchmarks/results/kills.json`
    """
    require_train_extra("benchmarks kills")
    from benchmarks.kills import run

    run(kills=kills, seed=seed).report(out)


@app.command()
def gate(
    repeats: Annotated[int, typer.Option(help="Draws of each source.", min=1)] = 100,
    n: Annotated[int, typer.Option(help="Rows of the sets that are timed.", min=100)] = 10_000,
    out: Out = None,
) -> None:
    """Count the gate's false alarms, and time check, gate and movements.

    Example: `python -m benchmarks gate --out benchmarks/results/gate.json`
    """
    from benchmarks.gate import run

    run(repeats=repeats, n=n).report(out)


@app.command()
def switches(out: Out = None) -> None:
    """Gate switches whose answer is known: roundings, seeds, lengths of training, methods.

    Example: `python -m benchmarks switches --out benchmarks/results/switches.json`
    """
    from benchmarks.switches import run

    run().report(out)

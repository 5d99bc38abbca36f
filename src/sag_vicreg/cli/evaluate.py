"""``sag-vicreg evaluate``: embeddings and a class hierarchy in, scores by level out."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.columns import Columns, Join
from sag_vicreg.cli.options import AsJson, check_outputs, save_plot, whole_numbers, with_groups
from sag_vicreg.cli.own_measures import OwnMeasures
from sag_vicreg.cli.terminal import print_json
from sag_vicreg.errors import InputError, visible


@with_groups
def evaluate(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Embedding files or run folders, each PATH or NAME=PATH; "
            "inputs of one name are seeds of one model.",
            metavar="INPUTS",
        ),
    ],
    hierarchy: Annotated[
        str | None,
        typer.Option(
            help="Packaged class tree (`cifar100`, `shapes`) or a .csv of class,path. "
            "Default: that of the run's dataset, else one level of all labels."
        ),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(
            help="Training embeddings for k-NN and probe; once per input. "
            "Default: those beside a run's test embeddings."
        ),
    ] = None,
    view: Annotated[
        Path | None,
        typer.Option(help="Embeddings of another view of the same images, for alignment."),
    ] = None,
    k: Annotated[int, typer.Option(help="How many neighbours vote.")] = 20,
    vote: Annotated[str, typer.Option(help="How they vote: `plain` or `weighted`.")] = "plain",
    temperature: Annotated[float, typer.Option(help="Temperature of the weighted vote.")] = 0.07,
    probe_seeds: Annotated[
        int, typer.Option(help="How often the linear probe is trained, for its deviation.", min=1)
    ] = 3,
    neighbors: Annotated[int, typer.Option(help="Neighbours in the graph that is clustered.")] = 10,
    clusters: Annotated[
        str | None,
        typer.Option(
            help="Numbers of clusters, separated by commas. Default: 20,40,...,200, as long as "
            "there are twice as many points."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the scores as JSON. Default: `results.json` in every run folder "
            "that was given; nowhere for files."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the scores to this .png, .svg or .pdf.")
    ] = None,
    *,
    columns: Columns,
    join: Join = "exact",
    measure: OwnMeasures = None,
    as_json: AsJson = False,
) -> None:
    """Score embeddings by level of a class hierarchy: k-NN, linear probe, Rand index, structure.

    Several inputs give a table that compares them, the best in bold.

    `sag-vicreg evaluate test.parquet --train train.parquet --hierarchy cifar100 --plot scores.png`

    `sag-vicreg evaluate runs/vicreg-0 runs/vicreg-1 runs/sag-vicreg-0 runs/sag-vicreg-1`
    """
    from sag_vicreg.artifacts import read_embeddings, write_json
    from sag_vicreg.cli.evaluate_tables import draw, print_scores
    from sag_vicreg.evaluation.inputs import open_inputs
    from sag_vicreg.evaluation.several import Evaluated, evaluate_inputs, grouped
    from sag_vicreg.scores import own_measures

    if view is not None and len(inputs) > 1:
        raise InputError(
            f"--view belongs to one input, {len(inputs)} were given: evaluate it alone"
        )
    measures = own_measures(measure or (), of="set")
    remedy = "give whole numbers, as in 20,40,60"
    counts = None if clusters is None else whole_numbers("--clusters", clusters, remedy, at_least=1)
    names = columns.of_each(len(inputs))
    opened = open_inputs(inputs, train or (), columns=names)
    read = [path for source in opened for path in (source.test, source.train)]
    check_outputs(out, plot=plot, inputs=[*read, hierarchy, view])

    def keep(done: Evaluated) -> None:
        """Write a run's own results at once: an interruption later costs only the rest."""
        source = done.source
        by = "" if source.train is None else f" by {source.train}"
        typer.echo(f"scored {visible(f'{source.test}{by}')}", err=True)
        if source.run is None or (len(opened) == 1 and out is not None):
            return
        results = visible(str(source.run.results))
        if done.left_out:
            _warn(f"{results} stays as it is: these scores are not of all images; give --out")
            return
        write_json(source.run.results, done.to_dict())
        typer.echo(f"wrote {results}", err=True)

    found = evaluate_inputs(
        opened,
        hierarchy,
        each=keep,
        warn=_warn,
        view=None if view is None else read_embeddings(view, **asdict(names[0])),
        how=join,
        k=k,
        vote=vote,
        temperature=temperature,
        seeds=range(probe_seeds),
        n_neighbors=neighbors,
        cluster_counts=counts,
        measures=measures,
    )
    groups, first = grouped(found), found[0]
    several = {
        "groups": [group.to_dict() for group in groups],
        "inputs": [done.to_dict() for done in found],
    }
    content = first.to_dict() if len(found) == 1 else several
    if out is not None:
        write_json(out, content)
        typer.echo(f"wrote {visible(str(out))}", err=True)
    if plot is not None:
        save_plot(draw(groups), plot)
    if as_json:
        print_json(content)
    else:
        print_scores(groups, first.hierarchy)


def _warn(line: str) -> None:
    typer.secho(f"warning: {visible(line)}", err=True, fg="red", bold=True)

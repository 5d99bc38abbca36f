"""`sag-vicreg reproduce`: the paper's tables, from recipes to numbers."""

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    targets: Annotated[
        list[str],
        typer.Argument(
            help="table1 ... table5, fig4a, fig4b, overhead; or lr-search, halves, trend-3000, "
            "ablation, levels, trend-10000, or replication for all of those in order."
        ),
    ],
    dataset: Annotated[
        list[str] | None, typer.Option(help="Dataset; repeat for several groups of columns.")
    ] = None,
    pretrain: Annotated[
        list[str] | None, typer.Option(help="Tables 4, 5, figures 4a, 4b: cifar100, imagenet1k.")
    ] = None,
    scale: Annotated[str, typer.Option(help="paper, cpu or smoke.")] = "cpu",
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 1,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", help="Only these methods; repeat.")
    ] = None,
    images: Annotated[
        str, typer.Option(help="Embed held-out images (test) or the other reading (train).")
    ] = "test",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override of every recipe: key=value.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of models, results and tables; reused.")] = Path(
        "reproduction"
    ),
    published: Annotated[Path, typer.Option(help="Folder of results that count as done.")] = Path(
        "docs/replication/runs"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at once.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="Send tasks out through submitit: slurm or local.")
    ] = None,
    cluster_option: Annotated[
        list[str] | None,
        typer.Option(help="Option for submitit, as slurm_partition=gpu; repeat."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="Print as markdown, csv or latex; all are kept.")
    ] = "markdown",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print runs, sizes and a measured estimate of time.")
    ] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Print what is finished and start nothing.")
    ] = False,
    publish: Annotated[
        bool,
        typer.Option("--publish", help="Copy results to --published and rewrite the page there."),
    ] = False,
) -> None:
    """Reproduce tables and figures of the paper, at its scale or at one that finishes on a CPU.

    What is finished is not done again; interrupt and repeat the command as you like.

    Example: `sag-vicreg reproduce table1 table2 --dataset cifar100 --scale cpu --seeds 3`
    """
    from sag_vicreg.experiments import Choices, Reproduction, Store, Workers, parse_options

    reproduction = Reproduction(
        Store(out, (published,)),
        Workers(jobs, cluster, parse_options(cluster_option or [])),
        Choices(
            scale=scale,
            datasets=dataset or (),
            pretrain=pretrain or (),
            methods=methods or (),
            seeds=seeds,
            images=images,
            overrides=set_ or (),
        ),
        echo=typer.echo,
        style=format_,
    )
    if dry_run:
        reproduction.estimate(targets)
        return
    complete = reproduction.reproduce(targets, run=not no_run, publish=publish)
    if not complete and not no_run:
        raise typer.Exit(1)

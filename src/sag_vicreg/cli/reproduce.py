"""`sag-vicreg reproduce`: the paper's tables, from recipes to numbers."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.removed import refuse_replication


def reproduce(
    targets: Annotated[
        list[str],
        typer.Argument(
            help="Any of table1 ... table5, fig4a, fig4b and overhead.",
        ),
    ],
    dataset: Annotated[
        list[str] | None, typer.Option(help="Dataset; repeat for several groups of columns.")
    ] = None,
    pretrain: Annotated[
        list[str] | None,
        typer.Option(help="Of tables 4 and 5 and figures 4a and 4b: cifar100 or imagenet1k."),
    ] = None,
    scale: Annotated[str, typer.Option(help="paper, cpu or smoke.")] = "cpu",
    seeds: Annotated[int, typer.Option(help="How many seeds to run.")] = 1,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", help="Only this method; repeat for several.")
    ] = None,
    images: Annotated[
        str,
        typer.Option(
            help="Which images to embed: held-out ones (test) or those of training (train)."
        ),
    ] = "test",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a key of every recipe: key=value.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of models, results and tables; reused.")] = Path(
        "reproduction"
    ),
    published: Annotated[
        Path | None, typer.Option(help="Folder of published results, which count as done.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many tasks run at once.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="Run tasks through submitit: slurm or local.")
    ] = None,
    cluster_option: Annotated[
        list[str] | None,
        typer.Option(help="Option for submitit, such as slurm_partition=gpu; repeat for several."),
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
    publish: Annotated[bool, typer.Option("--publish", hidden=True)] = False,
) -> None:
    """Reproduce tables and figures of the paper, at its scale or at one that finishes on a CPU.

    What is finished is not done again: the command can be interrupted and repeated at any time.

    Example: `sag-vicreg reproduce table1 table2 --dataset cifar100 --scale cpu --seeds 3`
    """
    refuse_replication(targets, publish=publish)
    from sag_vicreg.artifacts import check_writable
    from sag_vicreg.reproduce import (
        Campaign,
        Choices,
        Store,
        WorkerPool,
        parse_options,
        plan_targets,
    )

    campaign = Campaign(
        Store(out, (published,) if published else ()),
        WorkerPool(jobs, cluster, parse_options(cluster_option or [])),
        echo=typer.echo,
        style=format_,
    )
    choices = Choices(
        scale=scale,
        datasets=dataset or (),
        pretrain=pretrain or (),
        methods=methods or (),
        seeds=seeds,
        images=images,
        overrides=set_ or (),
    )
    planned = plan_targets(targets, choices, campaign.store.results())
    if dry_run:
        campaign.estimate(planned)
        return
    check_writable(out / "workers.log")  # makes the folder
    complete = [campaign.finish(target, run=not no_run) for target in planned]
    if not all(complete) and not no_run:
        raise typer.Exit(1)

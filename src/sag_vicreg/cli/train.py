"""``sag-vicreg train``: from a recipe to a backbone anyone can load."""

import re
from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.errors import InputError, require_train_extra


def train(
    recipe: Annotated[
        str | None,
        typer.Option(help="Packaged name such as `cifar100/sag-vicreg`, or a YAML file."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="`cpu` (default, minutes on two cores), `paper` or `smoke` (seconds)."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            help="Override a key, such as `--set optimizer.base_lr=0.5`; repeat for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder. Default: `runs/DATASET-METHOD-SCALE-seedN`."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Resume the run in this folder; the recipe is its own."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The dataset's folder. Default: its place under $SAG_VICREG_DATA."),
    ] = None,
    devices: Annotated[int, typer.Option(min=1, help="Devices per node.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="Number of nodes.")] = 1,
    strategy: Annotated[str, typer.Option(help="Lightning's strategy, such as `ddp`.")] = "auto",
    accelerator: Annotated[
        str, typer.Option(help="Lightning's accelerator: `auto`, `cpu` or `gpu`.")
    ] = "auto",
    logger: Annotated[
        list[str] | None,
        typer.Option(
            help="Log to `csv`, `wandb` or `mlflow` as well, or to a Lightning logger of your own, "
            "`module:Class`; repeat for several."
        ),
    ] = None,
    callback: Annotated[
        list[str] | None,
        typer.Option(help="A Lightning callback of your own, `module:Class`; repeat for several."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the complete recipe and train nothing.")
    ] = False,
) -> None:
    """Train a backbone from a recipe, or resume an interrupted run.

    `sag-vicreg train --recipe cifar100/sag-vicreg --scale cpu --out runs/sag`

    `sag-vicreg train --resume runs/sag`
    """
    from sag_vicreg.artifacts import Run
    from sag_vicreg.recipes import DEFAULT_SCALE, load_recipe

    if resume is not None:
        if recipe or scale or overrides or out:
            raise InputError("--resume takes the recipe from the run folder: leave the others out")
        stored = Run(resume).recipe
        if not stored.exists():
            raise InputError(f"nothing to resume in {resume}: it holds no {stored.name}")
        chosen, folder = load_recipe(stored), resume
    elif recipe is None:
        raise InputError("name a recipe (--recipe shapes/sag-vicreg) or a run (--resume RUN)")
    else:
        chosen = load_recipe(
            recipe, scale=scale, overrides=overrides or [], default_scale=DEFAULT_SCALE
        )
        name = re.sub(r"[/:]+", "-", chosen.name) + f"-{chosen.scale}-seed{chosen.seed}"
        folder = out or Path("runs") / name
    if show:
        typer.echo(chosen.to_yaml(), nl=False)
        return

    require_train_extra("train")
    from sag_vicreg.training import train as run_training
    from sag_vicreg.training.extensions import make_callback, make_logger
    from sag_vicreg.training.run import is_first_process

    run = run_training(
        chosen,
        folder,
        resume=resume is not None,
        root=data,
        loggers=[make_logger(name, folder) for name in logger or []],
        callbacks=[make_callback(name) for name in callback or []],
        devices=devices,
        nodes=nodes,
        strategy=strategy,
        accelerator=accelerator,
    )
    if is_first_process():
        typer.echo(f"trained {chosen.name} ({chosen.scale}): {run.backbone}")

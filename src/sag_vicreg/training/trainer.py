"""Lightning's trainer, as this package uses it."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.loggers import Logger

from sag_vicreg.errors import InputError
from sag_vicreg.machine import core_count
from sag_vicreg.recipes import Recipe


def make_trainer(
    recipe: Recipe,
    callbacks: Sequence[pl.Callback],
    *,
    folder: Path,
    loggers: Sequence[Logger] = (),
    devices: int = 1,
    nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "auto",
) -> pl.Trainer:
    """Build Lightning's trainer, without the parts that exact resume needs otherwise."""
    # Under SLURM Lightning would keep checkpoints of its own, in the working directory, and load
    # whatever lies there over ours. A requeued job resumes from ours.
    slurm = [SLURMEnvironment(auto_requeue=False)] if SLURMEnvironment.detect() else []
    try:
        trainer = pl.Trainer(
            accelerator=accelerator,
            devices=devices,
            num_nodes=nodes,
            strategy=strategy,
            precision=recipe.precision,
            max_epochs=1,  # of Lightning's: one pass over all steps; epochs are the plan's
            accumulate_grad_batches=recipe.accumulate,
            gradient_clip_val=recipe.optimizer.clip_norm,
            plugins=list(slurm),
            default_root_dir=folder,
            callbacks=list(callbacks),
            # MetricsLog beside them: Lightning's CSV log begins anew where a run resumes.
            logger=list(loggers) or False,
            # CheckpointStore instead: Lightning pickles its loops; ours holds no code to run.
            enable_checkpointing=False,
            # Watch's bar instead: Lightning's counts this process's batches, ours the run's steps.
            enable_progress_bar=False,
            enable_model_summary=False,
            # Batches instead: Lightning's repeats images to even ranks out and starts at no step.
            use_distributed_sampler=False,
        )
    except (ValueError, ImportError, MisconfigurationException) as error:
        raise InputError(
            f"Lightning refuses devices {devices}, nodes {nodes}, strategy {strategy}, "
            f"accelerator {accelerator}, or a callback: {error}"
        ) from error
    if trainer.precision != recipe.precision:
        # Lightning would go on with another: not what the recipe says was run.
        raise InputError(
            f"precision {recipe.precision} does not exist on this device, where it would become "
            f"{trainer.precision}: set precision to that or to 32-true"
        )
    return trainer


def check_devices(devices: int, accelerator: str) -> None:
    """Refuse more processes than cores, before any of them starts."""
    # Two, to try training by several processes on any machine.
    most = max(2, core_count())
    if not on_accelerator(accelerator) and devices > most:
        raise InputError(
            f"{devices} devices on a CPU are {devices} processes, and there are {core_count()} "
            f"cores: ask for at most {most}"
        )


def on_accelerator(accelerator: str) -> bool:
    """Whether training would run on anything but the CPU."""
    return accelerator != "cpu" and torch.accelerator.is_available()


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Hold back Lightning's banners and its advice on loaders that are not used here."""
    loggers = [logging.getLogger(f"lightning.{part}") for part in ("pytorch", "fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)

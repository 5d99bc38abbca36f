"""Train: from a recipe to a finished run folder."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.loggers import Logger
from lightning.pytorch.trainer.states import TrainerStatus
from lightning.pytorch.utilities.exceptions import SIGTERMException
from timm.layers.norm_act import convert_sync_batchnorm
from torch import nn

from sag_vicreg.artifacts import Run
from sag_vicreg.data import ImageDataset
from sag_vicreg.errors import InputError, first_line
from sag_vicreg.machine import holding_memory
from sag_vicreg.methods import (
    Method,
    derived_seed,
    make_method,
    naming_full_memory,
    uses_channels_last,
)
from sag_vicreg.recipes import Recipe
from sag_vicreg.training.batches import Plan
from sag_vicreg.training.checkpoint import CheckpointStore
from sag_vicreg.training.claim import claim
from sag_vicreg.training.export import export_backbone
from sag_vicreg.training.folder import check_folder, write_recipe
from sag_vicreg.training.inputs import Inputs, load_images
from sag_vicreg.training.measures import ImageMonitor
from sag_vicreg.training.module import TrainingModule
from sag_vicreg.training.own import OwnParts
from sag_vicreg.training.trainer import (
    check_devices,
    make_trainer,
    on_accelerator,
    quiet_lightning,
)
from sag_vicreg.training.watch import Watch


def train(
    recipe: Recipe,
    folder: Path | str,
    *,
    resume: bool = False,
    root: Path | str | None = None,
    method: Method | None = None,
    backbone: nn.Module | None = None,
    dataset: ImageDataset | None = None,
    test_dataset: ImageDataset | None = None,
    loggers: Sequence[Logger] = (),
    callbacks: Sequence[pl.Callback] = (),
    devices: int = 1,
    nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "auto",
) -> Run:
    """Train ``recipe`` into ``folder``.

    Parameters
    ----------
    recipe
        From :func:`~sag_vicreg.recipes.load_recipe`.
    folder
        The run folder: new or empty, or that of this very recipe with ``resume``.
    resume
        Go on from the last checkpoint (or from the start, if the run was killed before its first).
        The result is bit for bit that of a run that was never interrupted. A finished run is
        returned as it is.
    root
        Folder of the dataset; by default its place under ``$SAG_VICREG_DATA``.
    method, backbone
        A method of your own instead of the recipe's, or a backbone of your own under the recipe's
        method: any module from images to vectors.
    dataset, test_dataset
        Images of your own instead of the recipe's (:meth:`~sag_vicreg.data.ImageDataset.of`), and
        those that are measured beside them; without the second, every other one of the first.
    loggers, callbacks
        Lightning's. Loggers get every row of ``metrics.csv``; callbacks see its columns as
        ``trainer.callback_metrics``. Their own state is not part of a checkpoint.
    devices, nodes, strategy, accelerator
        Lightning's. The recipe's batch is that of all devices together.

    Examples
    --------
    >>> from sag_vicreg.recipes import load_recipe
    >>> run = train(load_recipe("shapes/sag-vicreg", scale="smoke"), "runs/smoke")  # doctest: +SKIP
    """
    run = Run(Path(folder))
    first = is_first_process()
    if run.backbone.exists():
        if first:
            check_folder(run, recipe, resume=resume)
        return run
    own = OwnParts(method, backbone, dataset, test_dataset)
    check_devices(devices, accelerator)
    with claim(run.folder, "trains in") if first else nullcontext(), naming_full_memory():
        if first:
            check_folder(run, recipe, resume=resume)
        store = CheckpointStore(run, own.digest(recipe), keep_every=recipe.monitor.keep_every)
        module = make_module(
            recipe,
            load_images(recipe, "train", root=root) if dataset is None else dataset,
            store,
            own=own,
            # CPUs have no synchronised BatchNorm; everywhere else it is the official code's.
            synchronize=devices * nodes > 1 and on_accelerator(accelerator),
        )
        if first:
            images = ImageMonitor(recipe, *own.monitored(recipe, root=root))
            callbacks = [Watch(run, images), *callbacks]
        with quiet_lightning():
            trainer = make_trainer(
                recipe,
                callbacks,
                folder=run.folder,
                loggers=loggers,
                devices=devices,
                nodes=nodes,
                strategy=strategy,
                accelerator=accelerator,
            )
            if first:
                write_recipe(run, recipe)
                store.sweep()
            _fit(trainer, module, run, first=first)
        if first:
            if store.newest() != store.path(module.plan.total_steps):
                raise InputError(
                    f"training ended before its last step, {store.kept()}: "
                    f"`{run.resume_command}` goes on"
                )
            export_backbone(run, module.method, recipe, architecture=own.architecture)
        trainer.strategy.barrier()
    return run


def _fit(trainer: pl.Trainer, module: TrainingModule, run: Run, *, first: bool) -> None:
    """Train; where something ends it from outside, say how to go on."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        with holding_memory():
            trainer.fit(module)
    except SIGTERMException:
        # Lightning's carries no exit code: to a scheduler the run would look finished.
        _stop("SIGTERM", signal.SIGTERM, module, run, first=first)
    except SystemExit:
        # Lightning's end after Ctrl-C, which it then ignores.
        signal.signal(signal.SIGINT, on_interrupt)
        if trainer.state.status != TrainerStatus.INTERRUPTED:
            raise
        _stop("Ctrl-C", signal.SIGINT, module, run, first=first)
    except MisconfigurationException as error:  # of a callback that looks at the trainer
        raise InputError(
            f"Lightning refuses a callback or logger ({first_line(error)}): leave it out, or give "
            "what it needs"
        ) from error
    except RuntimeError as error:
        # A collective fails where another process is gone; gloo has no type for it.
        lost = isinstance(error, torch.distributed.DistError) or "gloo" in str(error)
        if first or not lost:
            raise
        # The process that stopped first says why: a traceback here would bury its line.
        raise SystemExit(1) from None


def _stop(by: str, number: int, module: TrainingModule, run: Run, *, first: bool) -> None:
    if first:
        print(
            f"stopped by {by}, {module.checkpoints.kept()}: `{run.resume_command}` goes on",
            file=sys.stderr,
        )
    raise SystemExit(128 + number) from None


def make_module(
    recipe: Recipe,
    images: ImageDataset,
    store: CheckpointStore,
    *,
    own: OwnParts | None = None,
    synchronize: bool = False,
) -> TrainingModule:
    """Put method, data and plan together; the seed decides the first weights.

    ``synchronize`` lets BatchNorm see the batch of all devices.
    """
    plan = Plan(recipe, len(images))
    own = own or OwnParts()
    method = own.method or untrained_method(recipe, own.backbone)
    if synchronize:
        # Not Lightning's flag: PyTorch would strip the activations timm fuses into its norms.
        method = convert_sync_batchnorm(method)  # type: ignore[no-untyped-call]
    inputs = Inputs(plan, images, channels_last=uses_channels_last(method.backbone))
    return TrainingModule(method, plan, inputs, store)


def untrained_method(recipe: Recipe, backbone: nn.Module | None = None) -> Method:
    """Make the method as training begins with it: the seed decides its weights."""
    torch.manual_seed(derived_seed(recipe.seed, "weights"))
    return make_method(recipe, backbone=backbone)


def is_first_process() -> bool:
    """Whether this process leads, by the variables of torchrun, SLURM or Lightning's launcher."""
    ranks = ("RANK", "SLURM_PROCID", "NODE_RANK", "LOCAL_RANK")
    return all(os.environ.get(name, "0") == "0" for name in ranks)

"""Train: from a recipe to a finished run folder."""

import importlib.metadata
import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.utilities.exceptions import SIGTERMException
from timm.layers.norm_act import convert_sync_batchnorm

from sag_vicreg.artifacts import Run, write_text
from sag_vicreg.data import ImageDataset
from sag_vicreg.errors import InputError
from sag_vicreg.methods import make_method
from sag_vicreg.methods.backbone import uses_channels_last
from sag_vicreg.methods.moment import derived_seed
from sag_vicreg.recipes import Recipe, load_recipe
from sag_vicreg.training.batches import Plan
from sag_vicreg.training.checkpoint import CheckpointStore
from sag_vicreg.training.export import export_backbone
from sag_vicreg.training.inputs import Inputs, load_images
from sag_vicreg.training.measures import Probe
from sag_vicreg.training.module import TrainingModule
from sag_vicreg.training.watch import Watch

_VERSIONED = ("sag-vicreg", "torch", "torchvision", "timm", "lightly", "lightning", "numpy")


def train(
    recipe: Recipe,
    folder: Path | str,
    *,
    resume: bool = False,
    root: Path | str | None = None,
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
    devices, nodes, strategy, accelerator
        Lightning's. The recipe's batch is that of all devices together.

    Examples
    --------
    >>> from sag_vicreg.recipes import load_recipe
    >>> run = train(load_recipe("shapes/sag-vicreg", scale="smoke"), "runs/smoke")  # doctest: +SKIP
    """
    run = Run(Path(folder))
    first = _is_first_process()
    if first:
        _check_folder(run, recipe, resume=resume)
    if run.backbone.exists():
        return run
    store = CheckpointStore(run, recipe.digest())
    module = make_module(
        recipe,
        load_images(recipe, "train", root=root),
        store,
        # CPUs have no synchronised BatchNorm; everywhere else it is the official code's.
        synchronize=devices * nodes > 1 and _on_accelerator(accelerator),
    )
    watch = [Watch(run, Probe(recipe, root=root))] if first else []
    with quiet_lightning():
        trainer = make_trainer(
            recipe,
            watch,
            folder=run.folder,
            devices=devices,
            nodes=nodes,
            strategy=strategy,
            accelerator=accelerator,
        )
        if first:
            _claim_folder(run, recipe)
            store.sweep()
        try:
            trainer.fit(module)
        except SIGTERMException:
            if first:
                print(
                    f"stopped by SIGTERM, {store.kept()}: "
                    f"`sag-vicreg train --resume {run.folder}` goes on",
                    file=sys.stderr,
                )
            # Lightning's carries no exit code: to a scheduler the run would look finished.
            raise SystemExit(128 + signal.SIGTERM) from None
        except RuntimeError as error:
            if first or not _has_lost_a_process(error):
                raise
            # The process that stopped first says why: a traceback here would bury its line.
            raise SystemExit(1) from None
    if first:
        if store.newest() != store.path(module.plan.total_steps):
            raise InputError(
                f"training ended before its last step, {store.kept()}: "
                f"`sag-vicreg train --resume {run.folder}` goes on"
            )
        export_backbone(run, module.method, recipe)
    trainer.strategy.barrier()
    return run


def make_module(
    recipe: Recipe, images: ImageDataset, store: CheckpointStore, *, synchronize: bool = False
) -> TrainingModule:
    """Put method, data and plan together; the seed decides the first weights.

    ``synchronize`` lets BatchNorm see the batch of all devices.
    """
    plan = Plan(recipe, len(images))
    torch.manual_seed(derived_seed(recipe.seed, "weights"))
    method = make_method(recipe)
    if synchronize:
        # Not Lightning's flag: PyTorch would strip the activations timm fuses into its norms.
        method = convert_sync_batchnorm(method)  # type: ignore[no-untyped-call]
    inputs = Inputs(plan, images, channels_last=uses_channels_last(method.backbone))
    return TrainingModule(method, plan, inputs, store)


def make_trainer(
    recipe: Recipe,
    callbacks: Sequence[pl.Callback],
    *,
    folder: Path,
    devices: int = 1,
    nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "auto",
) -> pl.Trainer:
    """Build Lightning's trainer, without the parts that are done here."""
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
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
    except (ValueError, ImportError, MisconfigurationException) as error:
        raise InputError(
            f"Lightning refuses devices {devices}, nodes {nodes}, strategy {strategy}, "
            f"accelerator {accelerator}: {error}"
        ) from error
    if trainer.precision != recipe.precision:
        # Lightning would go on with another: not what the recipe says was run.
        raise InputError(
            f"precision {recipe.precision} does not exist on this device, where it would become "
            f"{trainer.precision}: set precision to that or to 32-true"
        )
    return trainer


def _check_folder(run: Run, recipe: Recipe, *, resume: bool) -> None:
    """Refuse a folder that is not this recipe's, or not for the asking."""
    if run.recipe.exists():
        found = load_recipe(run.recipe)
        if found.digest() != recipe.digest():
            raise InputError(
                f"{run.folder} already holds another recipe ({found.name}, {found.digest()}; this "
                f"one is {recipe.name}, {recipe.digest()}): choose another folder"
            )
        if not resume:
            raise InputError(
                f"{run.folder} already holds a run of this recipe: "
                f"`sag-vicreg train --resume {run.folder}` goes on with it"
            )
    elif resume:
        raise InputError(f"nothing to resume in {run.folder}: it holds no {run.recipe.name}")
    elif run.folder.exists() and not _is_fresh(run):
        raise InputError(f"{run.folder} is not an empty folder and holds no run: choose another")


def _is_fresh(run: Run) -> bool:
    """Whether the folder is empty, but for a recipe that a killed process had begun to write."""
    if not run.folder.is_dir():
        return False
    begun = f".{run.recipe.stem}-*{run.recipe.suffix}"
    return all(path.match(begun) for path in run.folder.iterdir())


def _claim_folder(run: Run, recipe: Recipe) -> None:
    """Write the complete recipe, with the versions that run it, once nothing is left to refuse."""
    if not run.recipe.exists():
        for leftover in run.folder.glob(f".{run.recipe.stem}-*"):
            leftover.unlink()
        versions = {name: importlib.metadata.version(name) for name in _VERSIONED}
        write_text(run.recipe, recipe.model_copy(update={"versions": versions}).to_yaml())


def _is_first_process() -> bool:
    """Whether this process leads, by the variables of torchrun, SLURM or Lightning's launcher."""
    ranks = ("RANK", "SLURM_PROCID", "NODE_RANK", "LOCAL_RANK")
    return all(os.environ.get(name, "0") == "0" for name in ranks)


def _has_lost_a_process(error: RuntimeError) -> bool:
    """Whether a collective failed because another process is gone; gloo has no type for it."""
    return isinstance(error, torch.distributed.DistError) or "gloo" in str(error)


def _on_accelerator(accelerator: str) -> bool:
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

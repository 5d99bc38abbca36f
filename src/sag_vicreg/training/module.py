"""The Lightning module: a method, its optimiser, and one batch after the other."""

from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from sag_vicreg.errors import InputError, NotFiniteError, TrainingStopped
from sag_vicreg.losses import LossTerms
from sag_vicreg.methods import Method, Moment, derived_seed, uses_channels_last
from sag_vicreg.training.batches import Batches, Plan
from sag_vicreg.training.checkpoint import CheckpointStore, Restored
from sag_vicreg.training.inputs import Inputs, Loaded, ViewBatch
from sag_vicreg.training.optimizer import learning_rate, load_optimizer, make_optimizer


class TrainingModule(pl.LightningModule):
    """Trains ``method`` by ``plan``, from the newest checkpoint on where there is one.

    Nothing here counts: learning rate, batches and randomness follow from the step that comes with
    each batch, so a resumed run cannot drift from an uninterrupted one.
    """

    def __init__(
        self, method: Method, plan: Plan, inputs: Inputs, checkpoints: CheckpointStore
    ) -> None:
        super().__init__()
        self.method = method
        self.plan = plan
        self.inputs = inputs
        self.checkpoints = checkpoints
        self.start = 0  # optimiser steps done before this process began
        self.rate = 0.0
        self.moment: Moment
        self.terms: LossTerms
        self.restored: Restored | None = None  # the checkpoint, until training starts
        self.monitor_state: Tensor | None = None  # of the checkpoint, for whoever measures
        if uses_channels_last(method.backbone):
            self.method.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    # Lightning's hooks, in the order in which they run.

    def setup(self, stage: str) -> None:
        """Load the newest checkpoint, the same one on every process."""
        self.restored = self.checkpoints.restore(quiet=not self.trainer.is_global_zero)
        if self.restored is not None:
            newest, content = self.restored
            self.start = content["step"]
            self.monitor_state = content["probe"]
            if self.start > self.plan.total_steps:
                raise InputError(
                    f"checkpoint {newest} is of step {self.start}, past the run's last, "
                    f"{self.plan.total_steps}: delete it"
                )
            if content.get("images") != self.inputs.fingerprint:
                raise InputError(
                    f"{self.plan.recipe.dataset.name} holds other images than when {newest} was "
                    "written: bring them back to resume, or train anew in another folder"
                )
            load_method(self.method, content["method"], newest)
        # No process may write the next checkpoint, and remove this one, before all have read it.
        self.trainer.strategy.barrier()

    def configure_optimizers(self) -> Optimizer:
        """Build the recipe's optimiser; its learning rate is set at every step."""
        return make_optimizer(self.plan.recipe, self.method)

    def train_dataloader(self) -> DataLoader[Loaded]:
        """Start where the checkpoint ended."""
        return self.inputs.loader(
            Batches(self.plan, self.start, self.global_rank, self.trainer.world_size)
        )

    def on_train_start(self) -> None:
        """Give the optimiser, and the gradient scaler if there is one, their state back."""
        if self.restored is not None:
            newest, content = self.restored
            load_optimizer(self.optimizer, content["optimizer"], newest)
            self.trainer.precision_plugin.load_state_dict(content["precision"])
        self.restored = None

    def transfer_batch_to_device(self, batch: Loaded, device: torch.device, _: int) -> ViewBatch:
        """Make the views where they are used, outside of autocast."""
        return self.inputs.views(batch, device)

    def training_step(self, batch: ViewBatch, _: int) -> Tensor:
        """Compute the loss of one batch."""
        self.moment = moment = batch.moment
        # Whatever draws from PyTorch's global generator (drop path, dropout) is placed as well.
        place = (moment.epoch, moment.step, moment.part, self.global_rank)
        torch.manual_seed(derived_seed(moment.seed, "global", *place))
        self.rate = learning_rate(
            moment.step,
            total_steps=self.plan.total_steps,
            warmup_steps=self.plan.warmup_steps,
            peak=self.plan.recipe.learning_rate,
            final=self.plan.recipe.schedule.final_lr,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        try:
            self.terms = self.method(batch.views, moment)
        except NotFiniteError as error:
            raise self.diverged(f"at step {moment.step}", str(error)) from error
        if not self.terms.total.isfinite():
            raise self.diverged(f"at step {moment.step}", f"the loss is {self.terms.total.item()}")
        return self.terms.total

    def on_after_backward(self) -> None:
        """Let the method see its gradients."""
        self.method.after_backward(self.moment)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Step, then let the method follow (Lightning computes the loss inside of the step)."""
        super().optimizer_step(*args, **kwargs)
        self.method.after_step(self.moment)

    def diverged(self, when: str, what: str) -> TrainingStopped:
        """Build the error of a training whose numbers are no longer numbers."""
        return TrainingStopped(
            f"training has diverged {when} ({what}): lower optimizer.base_lr; "
            f"{self.checkpoints.kept()}"
        )

    @property
    def optimizer(self) -> Optimizer:
        """The one optimiser."""
        return self.trainer.optimizers[0]

    def state(self) -> dict[str, Any]:
        """Return everything a checkpoint needs to go on from here."""
        return {
            "method": self.method.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "precision": self.trainer.precision_plugin.state_dict(),
            "images": self.inputs.fingerprint,
        }


def load_method(method: Method, state: dict[str, Tensor], source: Path) -> None:
    """Load a checkpoint's method; one of another architecture is refused in one line."""
    try:
        method.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        first = str(error).strip().splitlines()[1].strip() if "\n" in str(error) else str(error)
        raise InputError(
            f"checkpoint {source} is of another architecture than the recipe's: {first[:160]}"
        ) from error

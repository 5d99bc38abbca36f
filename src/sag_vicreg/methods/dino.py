"""DINO (Caron et al., 2021, https://arxiv.org/abs/2104.14294): self-distillation without labels."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Self

import torch
from lightly.loss import DINOLoss
from lightly.models.modules.heads import DINOProjectionHead
from lightly.models.utils import deactivate_requires_grad, update_momentum
from lightly.utils.scheduler import cosine_schedule
from torch import Tensor, nn

from sag_vicreg.distributed import (
    at_least_float32,
    full_precision,
    mean_over_processes,
    over_the_batch,
)
from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.heads import dino_head
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.teacher import momentum_teacher

_GLOBAL_CROPS = 2


class DINO(Method):
    """A student sees all crops, its momentum teacher the two global ones; they must agree.

    The teacher's outputs are centred and sharpened. What is exported and embedded with is the
    teacher, as in the official code.

    Parameters
    ----------
    backbone
        From pixels to the representation; the teacher begins as its copy.
    head, teacher_head
        Two of :func:`~sag_vicreg.methods.dino_head`; the teacher's begins with the other's weights.
    student_temperature, teacher_temperature, warmup_teacher_temperature
        Of the softmax; the teacher's rises during warm-up.
    temperature_warmup_share
        Share of training over which it rises.
    center_momentum, momentum
        Of the centre, and of the teacher at the start; the latter rises to 1 along a cosine.
    freeze_last_layer_share
        Share of training over which the head's last layer is held still.
    """

    def __init__(
        self,
        backbone: nn.Module,
        head: DINOProjectionHead,
        teacher_head: DINOProjectionHead,
        *,
        student_temperature: float,
        teacher_temperature: float,
        warmup_teacher_temperature: float,
        temperature_warmup_share: float,
        center_momentum: float,
        momentum: float,
        freeze_last_layer_share: float,
    ) -> None:
        super().__init__(backbone)
        self.head = head
        self.teacher = momentum_teacher(backbone)
        self.teacher_head = teacher_head
        self.teacher_head.load_state_dict(head.state_dict())
        deactivate_requires_grad(self.teacher_head)
        self.dino = CentredDINOLoss(
            output_dim=head.last_layer.out_features,
            student_temp=student_temperature,
            center_momentum=center_momentum,
        )
        self.teacher_temperature = teacher_temperature
        self.warmup_teacher_temperature = warmup_teacher_temperature
        self.temperature_warmup_share = temperature_warmup_share
        self.momentum = momentum
        self.freeze_last_layer_share = freeze_last_layer_share

    @classmethod
    def from_numbers(
        cls,
        backbone: nn.Module,
        n_features: int,
        *,
        hidden_dim: int,
        bottleneck_dim: int,
        prototypes: int,
        **numbers: float,
    ) -> Self:
        """Build the two heads."""
        heads = (
            dino_head(
                n_features,
                hidden_dim=hidden_dim,
                bottleneck_dim=bottleneck_dim,
                prototypes=prototypes,
            )
            for _ in range(2)
        )
        return cls(backbone, *heads, **numbers)

    @property
    def encoder(self) -> nn.Module:
        """The teacher's backbone; its output is the class token."""
        return self.teacher

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare every crop's student with the teacher of each other global crop."""
        with torch.no_grad():
            teacher = self.teacher_head(self.teacher(torch.cat(list(views[:_GLOBAL_CROPS]))))
        # One pass per crop size, as images of different sizes do not stack.
        features = [
            self.backbone(torch.cat(list(crops)))
            for _, crops in groupby(views, key=lambda view: view.shape[-1])
        ]
        student = self.head(torch.cat(features))
        with full_precision(student):
            loss: Tensor = self.dino(
                at_least_float32(teacher).chunk(_GLOBAL_CROPS),
                at_least_float32(student).chunk(len(views)),
                teacher_temp=self.temperature_at(moment),
            )
        loss = over_the_batch(loss, len(views[0]), moment.batch_size)
        return LossTerms(loss, {"distillation": loss})

    def temperature_at(self, moment: Moment) -> float:
        """Rise linearly from the warm-up temperature to the teacher's, then stay."""
        warmup = self.temperature_warmup_share
        done = min(moment.progress / warmup, 1.0) if warmup > 0 else 1.0
        start = self.warmup_teacher_temperature
        return start + done * (self.teacher_temperature - start)

    def after_backward(self, moment: Moment) -> None:
        """Hold the head's last layer still at first, which steadies the teacher."""
        self.head.freeze_last_layer = math.ceil(self.freeze_last_layer_share * moment.total_steps)
        self.head.cancel_last_layer_gradients(moment.step)

    def after_step(self, moment: Moment) -> None:
        """Let the teacher follow the student, ever more slowly."""
        momentum = cosine_schedule(moment.step, moment.total_steps, self.momentum, 1.0)
        update_momentum(self.backbone, self.teacher, momentum)
        update_momentum(self.head, self.teacher_head, momentum)


class CentredDINOLoss(DINOLoss):  # type: ignore[misc]  # lightly ships no types for it
    """lightly's loss with the centre of the whole batch.

    lightly averages the processes' means, which is off where they hold different numbers of rows.
    """

    @torch.no_grad()
    def update_center(self, teacher_out: Tensor) -> None:
        """Move the centre towards the mean of ``teacher_out``, (crops, rows, prototypes)."""
        self.center.lerp_(mean_over_processes(teacher_out, dims=(0, 1)), 1 - self.center_momentum)

"""DINO (Caron et al., 2021, https://arxiv.org/abs/2104.14294): self-distillation without labels."""

import copy
import math
import warnings
from collections.abc import Sequence
from itertools import groupby

import torch
import torch.distributed as dist
from lightly.loss import DINOLoss
from lightly.models.modules.heads import DINOProjectionHead
from lightly.models.utils import deactivate_requires_grad, update_momentum
from lightly.utils.scheduler import cosine_schedule
from torch import Tensor, nn

from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.transformer import at_least_float32, over_the_batch
from sag_vicreg.pairing import full_precision
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import DINOSection

_GLOBAL_CROPS = 2


class DINO(Method):
    """A student sees all crops, its momentum teacher the two global ones; they must agree.

    The teacher's outputs are centred and sharpened. What is exported and embedded with is the
    teacher, as in the official code.
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, DINOSection)
        self.section = section
        self.head = _make_head(self.n_features, section)
        self.teacher = copy.deepcopy(self.backbone)
        # The head's weight norm cannot be copied, only built again.
        self.teacher_head = _make_head(self.n_features, section)
        self.teacher_head.load_state_dict(self.head.state_dict())
        deactivate_requires_grad(self.teacher)
        deactivate_requires_grad(self.teacher_head)
        self.dino = CentredDINOLoss(
            output_dim=section.prototypes,
            student_temp=section.student_temperature,
            center_momentum=section.center_momentum,
        )

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
                teacher_temp=teacher_temperature(self.section, moment),
            )
        loss = over_the_batch(loss, len(views[0]), moment)
        return LossTerms(loss, {"distillation": loss})

    def after_backward(self, moment: Moment) -> None:
        """Hold the head's last layer still at first, which steadies the teacher."""
        self.head.freeze_last_layer = math.ceil(
            self.section.freeze_last_layer_share * moment.total_steps
        )
        self.head.cancel_last_layer_gradients(moment.step)

    def after_step(self, moment: Moment) -> None:
        """Let the teacher follow the student, ever more slowly."""
        momentum = cosine_schedule(moment.step, moment.total_steps, self.section.momentum, 1.0)
        update_momentum(self.backbone, self.teacher, momentum)
        update_momentum(self.head, self.teacher_head, momentum)


class CentredDINOLoss(DINOLoss):  # type: ignore[misc]  # lightly ships no types for it
    """lightly's loss with the centre of the whole batch.

    lightly averages the processes' means, which is off where they hold different numbers of rows.
    """

    @torch.no_grad()
    def update_center(self, teacher_out: Tensor) -> None:
        """Move the centre towards the mean of ``teacher_out``, (crops, rows, prototypes)."""
        total = teacher_out.sum(dim=(0, 1), keepdim=True)
        rows = total.new_tensor(teacher_out.shape[0] * teacher_out.shape[1])
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(total)
            dist.all_reduce(rows)
        self.center.lerp_(total / rows, 1 - self.center_momentum)


def teacher_temperature(section: DINOSection, moment: Moment) -> float:
    """Rise linearly from the warm-up temperature, then stay."""
    warmup = section.temperature_warmup_share
    done = min(moment.progress / warmup, 1.0) if warmup > 0 else 1.0
    start = section.warmup_teacher_temperature
    return start + done * (section.teacher_temperature - start)


def _make_head(n_features: int, section: DINOSection) -> DINOProjectionHead:
    with warnings.catch_warnings():
        # lightly still uses the older weight norm, which works and says that it is older.
        warnings.filterwarnings("ignore", message=".*weight_norm", category=FutureWarning)
        return DINOProjectionHead(
            n_features, section.hidden_dim, section.bottleneck_dim, section.prototypes
        )

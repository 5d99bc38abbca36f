"""The recipe: frozen sections, each checked by itself, then together.

Names follow the paper. Every key is explained where it stands; a recipe file holds nothing that is
not here.
"""

import hashlib
import json
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, Field, field_validator, model_validator

from sag_vicreg.errors import unknown_name
from sag_vicreg.published import CROP_SCALES, SINGLE_VIEWS, TWO_VIEWS
from sag_vicreg.recipes.datasets import DATASETS, dataset_names, find_dataset
from sag_vicreg.recipes.method_sections import MethodSection, Positive, Range, Section, Share
from sag_vicreg.recipes.patches import check_patches

VERSIONED = ("sag-vicreg", "torch", "torchvision", "timm", "lightly", "lightning", "numpy")
"""Packages whose versions a run notes, beside those that bring its method or dataset."""

Momentum = Annotated[float, Field(ge=0, lt=1)]
Names = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
Indices = Annotated[tuple[int, ...], Field(strict=False, min_length=1)]


def _inside_the_image(scale: tuple[float, float]) -> tuple[float, float]:
    low, high = scale
    if not 0 < low <= high <= 1:
        raise ValueError(
            f"a crop's scale is [{low}, {high}]: it must rise from above 0 to at most 1, the image"
        )
    return scale


CropScale = Annotated[Range, AfterValidator(_inside_the_image)]


class DatasetSection(Section):
    """Which images. ``classes`` is ``all``, the paper's ``first`` or ``second`` half, or names."""

    name: str
    classes: Literal["all", "first", "second"] | Names | Indices = "all"
    image_size: Positive
    max_images: Positive | None = None  # a seeded subset, balanced over classes
    seed: Annotated[int, Field(ge=0)] = 0  # of the subset and of drawn datasets; not of training

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        found = find_dataset(name)
        if found is None or not found.trainable:
            known = (n for n in dataset_names() if n not in DATASETS or DATASETS[n].trainable)
            raise unknown_name("dataset", name, known)
        return name


class BackboneSection(Section):
    """Any timm model: ``timm.create_model(name, **args)``."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)


class LocalCrops(Section):
    """DINO's small crops, beside the two global ones."""

    number: Positive
    size: Positive
    scale: CropScale


class ViewsSection(Section):
    """How an image becomes its views; ``kind`` names the published recipe."""

    kind: Literal["vicreg", "simclr", "barlow-twins", "dino", "crop", "i-jepa"]
    crop_scale: CropScale  # by default the kind's own
    local: LocalCrops | None = None

    @model_validator(mode="before")
    @classmethod
    def _crops_as_published(cls, given: Any) -> Any:
        kind = given.get("kind") if isinstance(given, dict) else None
        if isinstance(kind, str) and kind in CROP_SCALES:
            return {"crop_scale": CROP_SCALES[kind], **given}
        return given

    @model_validator(mode="after")
    def _local_crops_are_dinos(self) -> Self:
        if (self.kind == "dino") != (self.local is not None):
            raise ValueError("views.local belongs to views.kind dino, and dino needs it")
        return self

    @property
    def number(self) -> int:
        """Views an image becomes."""
        if self.kind in SINGLE_VIEWS:
            return 1
        return 2 + (self.local.number if self.local else 0)


class LARSSection(Section):
    """LARS as in the official VICReg code: biases and norms neither decay nor adapt."""

    name: Literal["lars"]
    base_lr: Annotated[float, Field(gt=0)]  # learning rate at an effective batch of 256
    weight_decay: Annotated[float, Field(ge=0)] = 1e-6
    momentum: Momentum = 0.9
    eta: Annotated[float, Field(gt=0)] = 0.001
    clip_norm: Annotated[float, Field(gt=0)] | None = None


class AdamWSection(Section):
    """AdamW; biases and norms do not decay."""

    name: Literal["adamw"]
    base_lr: Annotated[float, Field(gt=0)]
    weight_decay: Annotated[float, Field(ge=0)] = 0.05
    betas: Annotated[tuple[Momentum, Momentum], Field(strict=False)] = (0.9, 0.999)
    clip_norm: Annotated[float, Field(gt=0)] | None = None


class ScheduleSection(Section):
    """How long, in epochs or in steps, and how the learning rate moves.

    The rate rises linearly from 0 during warm-up, then falls along a cosine to ``final_lr`` times
    its peak, step by step.
    """

    epochs: Positive | None = None
    steps: Positive | None = None
    warmup_epochs: Annotated[int, Field(ge=0)] | None = None
    warmup_share: Share | None = None
    final_lr: Share = 0.001

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("schedule needs either epochs or steps (set the other to null)")
        if (self.warmup_epochs is None) == (self.warmup_share is None):
            raise ValueError(
                "schedule needs either warmup_epochs or warmup_share (set the other to null)"
            )
        if self.epochs and self.warmup_epochs and self.warmup_epochs >= self.epochs:
            raise ValueError(
                f"schedule.warmup_epochs is {self.warmup_epochs} but training ends after "
                f"{self.epochs} epochs"
            )
        return self

    def total_steps(self, steps_per_epoch: int) -> int:
        """Optimiser steps of the whole run."""
        return self.steps if self.steps is not None else (self.epochs or 0) * steps_per_epoch

    def warmup_steps(self, steps_per_epoch: int) -> int:
        """Optimiser steps of warm-up."""
        if self.warmup_epochs is not None:
            return min(self.warmup_epochs * steps_per_epoch, self.total_steps(steps_per_epoch) - 1)
        return int((self.warmup_share or 0.0) * self.total_steps(steps_per_epoch))


class MonitorSection(Section):
    """What is written while it runs. None of it changes the result."""

    log_every: Positive = 50  # steps between rows of metrics.csv
    checkpoint_every: Positive | None = None  # steps; null is once per epoch
    keep_every: Positive | None = None  # steps between checkpoints that stay; null: none
    measure_every: Positive | None = None  # steps between k-NN, RankMe and drift; null is an epoch
    probe_images: Positive = 2000  # images those measures look at


class Recipe(Section):
    """Everything that decides the result of a run, and what to write while it runs."""

    name: str = "custom"
    scale: str = "paper"
    seed: Annotated[int, Field(ge=0)] = 0
    dataset: DatasetSection
    backbone: BackboneSection
    method: MethodSection
    views: ViewsSection
    # One batch is what the loss and the walk see, over all devices together. Accumulation adds
    # whole batches to one optimiser step: it changes the learning rate's scaling, never the walk.
    batch_size: Annotated[int, Field(ge=2)]
    accumulate: Positive = 1
    optimizer: Annotated[LARSSection | AdamWSection, Field(discriminator="name")]
    schedule: ScheduleSection
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] = "32-true"
    monitor: MonitorSection = MonitorSection()
    # Of the packages that ran it; filled in by training.
    versions: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _together(self) -> Self:
        walks = getattr(self.method, "pairing", "random_walk") == "random_walk"
        k = getattr(self.method, "k", None) if walks else None
        if k is not None and k > self.batch_size:
            raise ValueError(
                f"method.k is {k} but batch_size is {self.batch_size}: "
                "the walk finds its neighbours in the batch, so lower k or raise batch_size"
            )
        if self.views.number not in self.method.takes:
            one = self.method.takes.start == 1
            kinds = " or ".join(SINGLE_VIEWS if one else TWO_VIEWS)
            raise ValueError(
                f"method {self.method.name} takes {'one view' if one else 'two views'} of an image "
                f"and views.kind {self.views.kind} makes {self.views.number}: choose {kinds}"
            )
        local = self.views.local
        if local is not None and local.size > self.dataset.image_size:
            raise ValueError(
                f"views.local.size is {local.size} but dataset.image_size is "
                f"{self.dataset.image_size}: a local crop is not larger than the image"
            )
        check_patches(self)
        return self

    @property
    def learning_rate(self) -> float:
        """Peak learning rate: the base rate times the optimiser's batch over 256."""
        return self.optimizer.base_lr * self.batch_size * self.accumulate / 256

    def to_yaml(self) -> str:
        """Write the complete recipe; :func:`load_recipe` reads it back to an equal one."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def digest(self) -> str:
        """Address of the result: equal for recipes that train the same weights.

        Names, versions and what is written on the way do not count, nor what a method leaves out.
        """
        content = self.model_dump(mode="json", exclude={"name", "scale", "monitor", "versions"})
        content["method"] = self.method.addressed()
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

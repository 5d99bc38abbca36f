"""From a batch's place in training to its views on the training device."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from sag_vicreg.data import ImageDataset, ViewDraw, Views, load_dataset, make_views
from sag_vicreg.errors import InputError
from sag_vicreg.methods import Moment
from sag_vicreg.recipes import Recipe, find_dataset
from sag_vicreg.training.batches import Batches, Plan


def stored_size(dataset: str, image_size: int) -> int | None:
    """Return the size to load images at for a network that takes ``image_size``."""
    entry = find_dataset(dataset)
    return None if entry is not None and entry.native_size else image_size


def load_images(
    recipe: Recipe, split: str, *, root: Path | str | None, max_images: int | None = None
) -> ImageDataset:
    """Load the recipe's images, or ``max_images`` of them."""
    section = recipe.dataset
    return load_dataset(
        section.name,
        root=root,
        split=split,
        classes=section.classes,
        image_size=stored_size(section.name, section.image_size),
        max_images=max_images or section.max_images,
        seed=section.seed,
    )


def recipe_views(recipe: Recipe) -> Views:
    """Build the views a recipe describes."""
    section, local = recipe.views, recipe.views.local
    if local is None:
        return make_views(section.kind, recipe.dataset.image_size, crop_scale=section.crop_scale)
    return make_views(
        section.kind,
        recipe.dataset.image_size,
        crop_scale=section.crop_scale,
        local_views=local.number,
        local_size=local.size,
        local_scale=local.scale,
    )


@dataclass(frozen=True)
class Batch:
    """The bytes of one batch that this process holds: its images, or their crops view by view."""

    moment: Moment
    pixels: list[Tensor]


@dataclass(frozen=True)
class ViewBatch:
    """Their views, normalised, where the network is."""

    moment: Moment
    views: list[Tensor]


Loaded = Batch | InputError
"""What a worker hands over: PyTorch would wrap an error it raises in the worker's traceback."""


class Inputs(Dataset[Loaded]):
    """A dataset, indexed by the moments of a plan, and the recipe's views of it.

    Every draw is for the whole batch and follows from the moment alone, so it makes no difference
    how many processes train or load. Images in memory are cropped on the training device; others
    are decoded and cropped by workers.
    """

    def __init__(self, plan: Plan, dataset: ImageDataset, *, channels_last: bool) -> None:
        self.plan = plan
        self.dataset = dataset
        self.recipe_views = recipe_views(plan.recipe)
        self.workers = 0 if dataset.resident else torch.get_num_threads()
        self.memory_format = torch.channels_last if channels_last else torch.contiguous_format

    @cached_property
    def fingerprint(self) -> str:
        """Say which images these are, in which order: a resumed run needs the same."""
        return hashlib.sha256("\n".join(self.dataset.ids).encode()).hexdigest()[:16]

    def loader(self, batches: Batches) -> DataLoader[Loaded]:
        """Load the images of ``batches`` one after the other."""
        if self.workers and self.dataset.encoded is not None:
            self.dataset.encoded.share()
        return DataLoader(self, sampler=batches, batch_size=None, num_workers=self.workers)

    def __getitem__(self, moment: Moment) -> Loaded:
        indices = self.plan.indices(moment)[moment.rows]
        if self.dataset.resident:
            return Batch(moment, [self.dataset.batch(indices)])
        try:
            return Batch(moment, self.dataset.crops(indices, self._draws(moment)))
        except InputError as error:
            return error

    def views(self, batch: Loaded, device: torch.device) -> ViewBatch:
        """Make the views of a batch on ``device``."""
        if isinstance(batch, InputError):
            raise batch
        pixels = [part.to(device, non_blocking=True) for part in batch.pixels]
        draws = self._draws(batch.moment)
        if self.dataset.resident:
            views = self.recipe_views.make(pixels[0], draws)
        else:
            views = self.recipe_views.finish(pixels, draws)
        views = [view.contiguous(memory_format=self.memory_format) for view in views]
        return ViewBatch(batch.moment, views)

    def _draws(self, moment: Moment) -> list[ViewDraw]:
        draws = self.recipe_views.draw(moment.batch_size, moment.generator("views"))
        return [draw[moment.rows] for draw in draws]

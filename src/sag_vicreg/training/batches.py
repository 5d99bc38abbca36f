"""Which images are in which batch: a function of seed, epoch and step alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from sag_vicreg.errors import InputError
from sag_vicreg.methods import Moment, derived_seed
from sag_vicreg.recipes import Recipe


@dataclass(frozen=True)
class Plan:
    """How a dataset of ``n_images`` is walked through by a recipe.

    An epoch is a fresh permutation cut into whole batches; what is left over waits for the next.
    """

    recipe: Recipe
    n_images: int

    def __post_init__(self) -> None:
        if self.steps_per_epoch == 0:
            raise InputError(
                f"{self.recipe.dataset.name} has {self.n_images} images but one step takes "
                f"{self.images_per_step}: lower batch_size or accumulate"
            )

    @property
    def images_per_step(self) -> int:
        """Images the optimiser sees at each step."""
        return self.recipe.batch_size * self.recipe.accumulate

    @property
    def steps_per_epoch(self) -> int:
        """Optimiser steps in an epoch."""
        return self.n_images // self.images_per_step

    @property
    def total_steps(self) -> int:
        """Optimiser steps of the run."""
        return self.recipe.schedule.total_steps(self.steps_per_epoch)

    @property
    def warmup_steps(self) -> int:
        """Optimiser steps of warm-up."""
        return self.recipe.schedule.warmup_steps(self.steps_per_epoch)

    def moment(self, step: int, part: int, *, rank: int = 0, world_size: int = 1) -> Moment:
        """Describe one batch of one step, as a process sees it."""
        n = self.recipe.batch_size
        return Moment(
            seed=self.recipe.seed,
            epoch=step // self.steps_per_epoch,
            step=step,
            total_steps=self.total_steps,
            batch_size=n,
            # Contiguous, and as even as it goes.
            rows=slice(n * rank // world_size, n * (rank + 1) // world_size),
            part=part,
        )

    def indices(self, moment: Moment) -> NDArray[np.int64]:
        """Return the images of the whole batch, over all processes."""
        order = _permutation(self.recipe.seed, moment.epoch, self.n_images)
        within = moment.step % self.steps_per_epoch
        start = (within * self.recipe.accumulate + moment.part) * self.recipe.batch_size
        return order[start : start + self.recipe.batch_size]


@lru_cache(maxsize=2)
def _permutation(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    return np.random.default_rng(derived_seed(seed, "order", epoch)).permutation(n)


@dataclass(frozen=True)
class Batches(Sampler[Moment]):
    """Every batch from ``start`` to the end of the run, as one process sees them."""

    plan: Plan
    start: int
    rank: int
    world_size: int

    def __len__(self) -> int:
        return (self.plan.total_steps - self.start) * self.plan.recipe.accumulate

    def __iter__(self) -> Iterator[Moment]:
        for step in range(self.start, self.plan.total_steps):
            for part in range(self.plan.recipe.accumulate):
                yield self.plan.moment(step, part, rank=self.rank, world_size=self.world_size)

"""Where training stands, and the randomness that belongs to exactly that place."""

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import torch


def derived_seed(seed: int, stream: str, *place: int) -> int:
    """Mix a seed, the name of what is drawn and a place in training into 63 well-spread bits.

    Streams of one place are independent, and so are places that differ by one: a run that stops
    and resumes draws what it would have drawn, without any generator's state in a checkpoint.
    """
    words = np.random.SeedSequence((seed, crc32(stream.encode()), *place))
    return int(words.generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One batch of one run.

    Attributes
    ----------
    step, total_steps
        Where the run stands, in optimiser steps from 0, and how many it has.
    batch_size
        Images of the batch over all processes.
    seed, epoch
        What is drawn follows from the seed and the place.
    rows
        The rows of that batch which this process holds; by default all.
    part
        Which of the batches that are accumulated into this step.
    """

    step: int
    total_steps: int
    batch_size: int
    seed: int = 0
    epoch: int = 0
    rows: slice = field(default_factory=lambda: slice(None))
    part: int = 0

    @property
    def progress(self) -> float:
        """Share of training done before this step, in [0, 1)."""
        return self.step / self.total_steps

    def generator(self, stream: str) -> torch.Generator:
        """Return the generator of ``stream`` (``"views"``, ``"walk"`` ...) for this batch.

        It is the same on every process, so draw for the whole batch and keep ``rows``.
        """
        place = (self.epoch, self.step, self.part)
        return torch.Generator().manual_seed(derived_seed(self.seed, stream, *place))

"""Merges as an algorithm finds them, and as a linkage matrix lists them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.structure.kernels import kernel


def reciprocal_pairs(nearest: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of clusters that are each other's ``nearest``, the lower index first.

    What has no nearest, -1, is in none of them.
    """
    here = np.arange(len(nearest))
    left = np.flatnonzero((nearest[nearest] == here) & (here < nearest))
    return left, nearest[left]


@dataclass
class Merges:
    """Merges in the order they were found: two points, one of each cluster, and the height.

    ``advance`` is told how many each batch brought, for a progress bar.
    """

    batches: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    ties: int = 0
    advance: Callable[[float], None] = lambda _: None

    def add(self, first: Ints, second: Ints, heights: Floats, ties: int) -> None:
        """Append a batch; ``ties`` of its merges had another choice."""
        self.batches.append((first, second, heights))
        self.ties += ties
        self.advance(len(heights))

    def linkage(self) -> Floats:
        """Sort by height and name clusters as SciPy does: merge ``k`` makes cluster ``n + k``."""
        first, second, heights = (np.concatenate(part) for part in zip(*self.batches, strict=True))
        linkage = np.empty((len(heights), 4))
        kernel("trees").fill_linkage(first, second, heights, linkage)
        return linkage

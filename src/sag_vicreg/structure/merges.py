"""Merges as an algorithm finds them, and as a linkage matrix lists them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.structure.kernels import kernel


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
        trees = kernel("trees")
        # Rounding may put a parent a bit below its child; no tree in sorted order has that.
        trees.lift_parents(first, second, heights)
        order = np.argsort(heights, kind="stable")
        linkage = np.empty((len(heights), 4))
        trees.name_clusters(first[order], second[order], heights[order], linkage)
        return linkage

"""How a decision's forests are grown: only scores made alike compare."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats
from sag_vicreg.artifacts.embedding_tables import room_beside_reading
from sag_vicreg.errors import InputError
from sag_vicreg.structure import Forest, ward_forest
from sag_vicreg.structure.forest import FEWEST_ROWS, TREES, check_forest
from sag_vicreg.structure.memory import gigabytes
from sag_vicreg.structure.points import LARGEST, check_geometry

ITEMS = 3_000
"""Most items a decision looks at by default: its interval is then narrow enough for most."""


@dataclass(frozen=True)
class Settings:
    """The options of every forest behind a decision.

    Attributes
    ----------
    geometry, trees, seed
        As in :func:`~sag_vicreg.structure.ward_forest`.
    items
        Of more rows than this, a seeded random sample takes part.
    """

    geometry: str = "cosine"
    trees: int = TREES
    items: int = ITEMS
    seed: int = 0

    def __post_init__(self) -> None:
        check_geometry(self.geometry)
        check_forest(trees=self.trees, distance="size", items=self.items)
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}: give 0 or more")

    def check_memory(self, dimensions: Sequence[int], memory: int, *, threads: int) -> None:
        """Refuse a memory that a decision on so many items of such sets would pass."""
        # Distances of all items and averages of their pairs; half a triangle and joint tables for
        # each thread; the rows as they are read and as points.
        needed = (
            20 * self.items**2
            + (threads + 1) * (self.items**2 + (32 << 20))
            + 4 * 8 * self.items * sum(dimensions)
        )
        if needed > (room := room_beside_reading(memory, threads)):
            raise InputError(
                f"a memory of {gigabytes(memory)} is too small to decide on {self.items:,} items: "
                f"give at least {gigabytes(memory - room + needed)}, or fewer by --items"
            )

    def grow(self, vectors: Any, name: str) -> Forest:
        """Grow the forest of one set."""
        if len(vectors) < FEWEST_ROWS:
            raise InputError(
                f"{name} has {len(vectors)} rows to compare: a decision needs at least "
                f"{FEWEST_ROWS}; give files with more items in common"
            )
        return ward_forest(vectors, **asdict(self), name=name)


def check_same_rows(sizes: list[int], names: list[str]) -> None:
    """Refuse sets whose rows cannot stand for the same items."""
    for size, name in zip(sizes, names, strict=True):
        if size != sizes[0]:
            raise InputError(
                f"{names[0]} has {sizes[0]} rows and {name} has {size}: row i of both must stand "
                "for the same item; files with ids are matched by artifacts.join"
            )


def check_range(vectors: Floats, name: str) -> None:
    """Refuse numbers that fewer bits, or the squares of what is planted, do not reach."""
    largest = float(np.abs(vectors).max())
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise InputError(
            f"{name}: its largest number is {largest:.0e}, and it must lie in {1 / LARGEST:.0e} to "
            f"{LARGEST:.0e}: multiply all vectors by one number"
        )


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that no similarity, or any, would pass, before a forest is grown."""
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance is {tolerance}: give one between 0 and 1, such as 0.02")

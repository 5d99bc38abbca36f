"""The options of the walk, by name and type. Without PyTorch, as recipes take them too."""

from typing import Literal, TypedDict

Around = Literal["view", "own_view"]
ScaleOver = Literal["batch", "neighbors"]


class WalkOptions(TypedDict, total=False):
    """What :class:`~sag_vicreg.pairing.RandomWalkPairing` takes beside ``k``."""

    percentile: float
    scale_over: ScaleOver
    around: Around
    walk_after: float

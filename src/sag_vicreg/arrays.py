"""Names for what arrays hold, and the inverse of an order."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


def inverse(order: Ints) -> Ints:
    """Return where in an order of 0 to n - 1 each number stands."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places

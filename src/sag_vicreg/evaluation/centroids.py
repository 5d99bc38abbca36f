"""Where a class lies: the mean of its points."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.evaluation.checks import unit_rows


def class_centroids(
    vectors: NDArray[np.floating[Any]],
    labels: NDArray[np.int64],
    n_classes: int,
    *,
    unit: bool = True,
) -> NDArray[np.float64]:
    """Return the mean of each class's rows, (n_classes, d).

    By ``unit``, of their directions: where cosines count, long rows must not count for more.
    """
    rows = unit_rows(vectors) if unit else vectors
    sums = np.zeros((n_classes, rows.shape[1]))
    np.add.at(sums, labels, rows)
    return sums / np.bincount(labels, minlength=n_classes)[:, None]

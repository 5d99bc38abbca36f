"""Where each image lies: a 2-D map of every model, and each image's nearest neighbours."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.evaluation.centroids import class_centroids
from sag_vicreg.evaluation.neighbors import Neighbors, nearest
from sag_vicreg.evaluation.plane import project
from sag_vicreg.progress import track
from sag_vicreg.report.points import Points

NEIGHBOURS = 8


@dataclass(frozen=True)
class ModelMap:
    """One model's map: images, class centroids where there are classes, and neighbours."""

    points: NDArray[np.float32]
    centroids: NDArray[np.float32] | None
    neighbours: Neighbors


def map_models(points: Points, rows: NDArray[np.intp], *, seed: int) -> list[ModelMap]:
    """Map the given rows of every model; centroids are of all rows."""
    maps = []
    # One more than shown: the nearest of all is the image itself.
    k = min(NEIGHBOURS, len(rows) - 1)
    for vectors in track(points.vectors, "maps"):
        shown, centroids = vectors[rows], None
        if points.labels is not None and len(points.classes) > 1:
            means = class_centroids(vectors, points.labels, len(points.classes))
            centroids = project(means, seed=seed)
        neighbours = _others(nearest(shown, shown, k + 1), k)
        maps.append(ModelMap(project(shown, seed=seed), centroids, neighbours))
    return maps


def _others(found: Neighbors, k: int) -> Neighbors:
    """Drop each row itself from its neighbours; where a duplicate hides it, drop the last."""
    own = found.indices == np.arange(len(found.indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return Neighbors(found.indices[~own].reshape(-1, k), found.similarity[~own].reshape(-1, k))

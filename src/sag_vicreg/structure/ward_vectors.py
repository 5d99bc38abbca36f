"""Ward's method on vectors, exactly and without a distance matrix: O(n d) memory.

Ward's criterion is reducible: merging two clusters never brings a third nearer to their union than
it was to the nearer of the two. Hence all pairs of reciprocal nearest neighbours may merge at once,
a cluster keeps its nearest neighbour until that one merges, and the tree is the greedy one.
"""

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.structure.kernels import kernel
from sag_vicreg.structure.merges import Merges, reciprocal_pairs
from sag_vicreg.structure.parallel import Workers

_ROWS = 128


class _Clusters:
    """The current clusters: centroids in both precisions, sizes, and cached nearest neighbours."""

    def __init__(self, points: Floats, sizes: Floats, workers: Workers) -> None:
        n = len(points)
        self._workers = workers
        self.members = np.arange(n)
        self.nearest = np.full(n, -1)
        self.smallest = np.empty(n)
        self.tied = np.zeros(n, np.bool_)
        # Found since the last merge, so that `tied` speaks of the clusters as they are now.
        self.fresh = np.zeros(n, np.bool_)
        self._hold(points, sizes)

    def __len__(self) -> int:
        return len(self.members)

    def _hold(self, centroids: Floats, sizes: Floats) -> None:
        self.centroids, self.sizes = centroids, sizes
        self.inverse_sizes = 1.0 / sizes
        self._centroids32 = centroids.astype(np.float32)
        self._inverse32 = self.inverse_sizes.astype(np.float32)
        # |a|^2 + |b|^2 - 2ab in float32 is wrong by at most (d + 8) units of rounding of
        # |a|^2 + |b|^2, the worst case of any order of summation: take that off beforehand.
        rounding = (centroids.shape[1] + 8) * 2.0**-24
        norms = np.einsum("ij,ij->i", centroids, centroids)
        self._norms32 = (norms * (1.0 - rounding)).astype(np.float32)

    def find(self, rows: Ints) -> None:
        """Find the nearest neighbours of ``rows`` anew."""
        centroids = kernel("centroids")

        def search(part: Ints) -> None:
            dots = self._centroids32[part] @ self._centroids32.T
            centroids.find_nearest(
                part,
                dots,
                self._norms32,
                self._inverse32,
                self.centroids,
                self.inverse_sizes,
                self.smallest,
                self.nearest,
                self.tied,
            )

        step = max(1, min(_ROWS, -(-len(rows) // self._workers.count)))
        self._workers.map(search, [rows[i : i + step] for i in range(0, len(rows), step)])
        self.fresh[rows] = True

    def merge(self, left: Ints, right: Ints) -> Ints:
        """Unite ``left`` and ``right``, and return the clusters without a valid neighbour."""
        total = self.sizes[left] + self.sizes[right]
        share = (self.sizes[right] / total)[:, None]
        self.centroids[left] += share * (self.centroids[right] - self.centroids[left])
        self.sizes[left] = total
        changed = np.zeros(len(self), np.bool_)
        changed[left] = changed[right] = True
        stale = changed | changed[self.nearest]
        kept = np.ones(len(self), np.bool_)
        kept[right] = False
        place = np.cumsum(kept) - 1
        self.nearest = place[self.nearest[kept]]
        self.members = self.members[kept]
        self.smallest, self.tied = self.smallest[kept], self.tied[kept]
        self._hold(self.centroids[kept], self.sizes[kept])
        self.fresh = np.zeros(len(self), np.bool_)
        return np.flatnonzero(stale[kept])


def ward_of_vectors(
    points: Floats, workers: Workers, merges: Merges, *, weights: Ints | None = None
) -> None:
    """Cluster the rows of ``points`` by Ward's method in Euclidean geometry, into ``merges``.

    Row i may stand for ``weights[i]`` equal points: the tree is then what it is above the merges of
    those, at height 0.
    """
    # Ward's method does not see translation, and float32 has most digits around the origin;
    # a power of two keeps squares in float32's range and heights exact.
    centred = points - points.mean(axis=0)
    scale = 2.0 ** np.ceil(np.log2(max(np.abs(centred).max(), np.finfo(float).tiny)))
    sizes = np.ones(len(points)) if weights is None else weights.astype(np.float64)
    clusters = _Clusters(centred / scale, sizes, workers)
    stale = np.arange(len(points))
    while len(clusters) > 1:
        clusters.find(stale)
        left, right = reciprocal_pairs(clusters.nearest)
        # A tie seen before the last merge may be one no longer: look again before counting it.
        pairs = np.concatenate([left, right])
        stale = pairs[clusters.tied[pairs] & ~clusters.fresh[pairs]]
        if len(left) == 0:
            # Only ties can leave a ring of preferences; with all of them fresh there is none,
            # for the lowest cluster of a closest pair and its partner choose each other.
            stale = np.arange(len(clusters))
        if len(stale):
            continue
        merges.add(
            clusters.members[left],
            clusters.members[right],
            np.sqrt(2.0 * clusters.smallest[left]) * scale,
            int(np.count_nonzero(clusters.tied[left] | clusters.tied[right])),
        )
        stale = clusters.merge(left, right)

"""Trees of many small parts of one set in one call: Python would cost more than the trees."""

import numpy as np

from sag_vicreg.compiling import compiled
from sag_vicreg.structure.kernels.chain import ward_chain
from sag_vicreg.structure.kernels.packed import compact
from sag_vicreg.structure.kernels.trees import lift_parents, name_clusters


@compiled("void(float64[::1], int64[:,::1], float64[:,:,::1], int64[::1])")
def grow(whole, parts, linkages, ties):
    """Fill the linkage matrix of each part, a row of points in ascending order; count its ties."""
    m = parts.shape[1]
    packed = np.empty(m * (m - 1) // 2)
    first, second, heights = np.empty(m - 1, np.int64), np.empty(m - 1, np.int64), np.empty(m - 1)
    for part in range(len(parts)):
        compact(whole, parts[part], packed)
        ties[part] = ward_chain(packed, np.ones(m), np.arange(m), first, second, heights)
        lift_parents(first, second, heights)
        order = np.argsort(heights, kind="mergesort")
        name_clusters(first[order], second[order], heights[order], linkages[part])

"""Trees of many small parts of one set in one call: Python would cost more than the trees."""

import numpy as np

from sag_vicreg.compiling import compiled
from sag_vicreg.structure.kernels.chain import ward_chain
from sag_vicreg.structure.kernels.packed import compact
from sag_vicreg.structure.kernels.trees import fill_linkage


@compiled("void(float64[::1], int64[:,::1], float64[:,:,::1], int64[::1])")
def grow(whole, parts, linkages, ties):
    """Fill the linkage matrix of each part, a row of points in ascending order; count its ties."""
    m = parts.shape[1]
    packed = np.empty(m * (m - 1) // 2)
    first, second, heights = np.empty(m - 1, np.int64), np.empty(m - 1, np.int64), np.empty(m - 1)
    for part in range(len(parts)):
        compact(whole, parts[part], packed)
        ties[part] = ward_chain(packed, np.ones(m), np.arange(m), first, second, heights)
        fill_linkage(first, second, heights, linkages[part])

"""Exact nearest neighbours by cosine: blocks of one matrix product, the best kept as they appear.

The product of a block of queries with a block of keys is not sorted, not even in part: each row
is scanned once against its current k-th best, which after the first blocks nearly every entry
fails. The block's memory is then reused, so it does not grow with n.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from sag_vicreg.arrays import Array
from sag_vicreg.compiling import use_numba
from sag_vicreg.evaluation.checks import unit_rows
from sag_vicreg.progress import progress_bar
from sag_vicreg.structure.parallel import blocks

QUERY_BLOCK = 1024
KEY_BLOCK = 8192

use_numba()


@dataclass(frozen=True)
class Neighbors:
    """The nearest keys of each query, nearest first; equal ones in the order of the keys."""

    indices: NDArray[np.int64]
    similarity: NDArray[np.float32]


@numba.njit(cache=True, parallel=True)
def _keep_best(
    tile: NDArray[np.float32],
    first_key: int,
    similarity: NDArray[np.float32],
    indices: NDArray[np.int64],
) -> None:
    """Insert the entries of ``tile`` into each row's sorted list of best ones so far."""
    rows, columns = tile.shape
    last = similarity.shape[1] - 1
    for row in numba.prange(rows):
        threshold = similarity[row, last]
        for column in range(columns):
            value = tile[row, column]
            # Strictly greater: of equal keys the earlier stays, whatever the blocks.
            if value > threshold:
                place = last
                while place > 0 and similarity[row, place - 1] < value:
                    similarity[row, place] = similarity[row, place - 1]
                    indices[row, place] = indices[row, place - 1]
                    place -= 1
                similarity[row, place] = value
                indices[row, place] = first_key + column
                threshold = similarity[row, last]


def nearest(queries: Array, keys: Array, k: int) -> Neighbors:
    """Find the ``k`` keys of largest cosine to each query.

    Parameters
    ----------
    queries, keys
        Matrices (m, d) and (n, d); rows need not be normalised.
    k
        How many neighbours, at most n.

    Returns
    -------
    Neighbors
        Indices into ``keys`` (m, k) and cosines (m, k).
    """
    unit_queries, unit_keys = unit_rows(queries), unit_rows(keys)
    m, n = len(unit_queries), len(unit_keys)
    similarity = np.full((m, k), -np.inf, dtype=np.float32)
    indices = np.zeros((m, k), dtype=np.int64)
    tile = np.empty(min(m, QUERY_BLOCK) * min(n, KEY_BLOCK), dtype=np.float32)
    with progress_bar("nearest neighbours", total=m) as advance:
        for rows in blocks(m, QUERY_BLOCK):
            block = unit_queries[rows]
            for first_key in range(0, n, KEY_BLOCK):
                key_block = unit_keys[first_key : first_key + KEY_BLOCK]
                shape = (len(block), len(key_block))
                product = tile[: shape[0] * shape[1]].reshape(shape)
                np.matmul(block, key_block.T, out=product)
                _keep_best(product, first_key, similarity[rows], indices[rows])
            advance(len(block))
    return Neighbors(indices, similarity)

"""Sums of cophenetic heights times distances over all pairs."""

import numpy as np

from sag_vicreg.compiling import compiled


@compiled("void(int64[:,::1], int64[::1], float64[:,::1], float64[::1], float64[::1])")
def half_square_sums(children, sizes, points, halves, sums):
    """Sum ``|x - y|**2 / 2`` over the pairs each merge joins, from sums over its two clusters.

    The half square is ``halves[x] + halves[y] - x.y``, with ``halves`` the points' half squared
    norms, so a merge needs no more of its clusters than their sizes and totals.
    """
    n, d = points.shape
    totals = np.empty((n - 1, d))
    half_totals = np.empty(n - 1)
    for merge in range(n - 1):
        left, right = children[merge]
        a = points[left] if left < n else totals[left - n]
        b = points[right] if right < n else totals[right - n]
        half_a = halves[left] if left < n else half_totals[left - n]
        half_b = halves[right] if right < n else half_totals[right - n]
        dot = 0.0
        for k in range(d):
            dot += a[k] * b[k]
            totals[merge, k] = a[k] + b[k]
        half_totals[merge] = half_a + half_b
        sums[merge] = half_a * sizes[right] + half_b * sizes[left] - dot


@compiled("void(float64[:,::1], float64[::1], int64, float64[:,::1])")
def distances(dots, norms, start, sums):
    """Turn dot products of rows ``start + r`` into distances, and sum them and their squares."""
    for r in range(dots.shape[0]):
        i = start + r
        total = squares = 0.0
        for j in range(dots.shape[1]):
            squared = max(norms[i] + norms[j] - 2.0 * dots[r, j], 0.0)
            dots[r, j] = np.sqrt(squared)
        dots[r, i] = 0.0
        for j in range(dots.shape[1]):
            total += dots[r, j]
            squares += dots[r, j] * dots[r, j]
        sums[r, 0], sums[r, 1] = total, squares


@compiled("float64(float64[:,::1], int64, int64[::1], int64[::1], float64[::1])")
def cross_sum(block, start, places, rows, splits):
    """Sum height times distance over the pairs whose earlier leaf is one of a block's rows.

    ``block`` holds the distances of rows ``start + r`` to all rows; ``rows[p]`` is the row at place
    ``p`` of the tree's leaf order, ``places`` its inverse, ``splits`` the heights at its
    boundaries.
    """
    n = len(rows)
    total = 0.0
    for r in range(block.shape[0]):
        height, row_total = -np.inf, 0.0
        for place in range(places[start + r] + 1, n):
            height = max(height, splits[place - 1])
            row_total += height * block[r, rows[place]]
        total += row_total
    return total

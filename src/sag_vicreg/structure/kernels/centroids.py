"""Nearest clusters by Ward's criterion, from centroids: float32 proposes, float64 decides.

A block of float32 dot products gives every pair a lower bound that no rounding error can spoil.
Only pairs whose bound reaches below the best exact value so far, a handful in thousands, are
scored from the difference of their float64 centroids.
"""

import numpy as np

from sag_vicreg.compiling import compiled

_LANES = 64
# Farther than any criterion of points within the unit ball, even times a million points.
_TWO, _FAR = np.float32(2.0), np.float32(1e30)


@compiled("float64(float64[:,::1], float64[::1], int64, int64)")
def _criterion(centroids, inverse_sizes, i, j):
    """Return the growth in the sum of squares if ``i`` and ``j`` merge; the same for (j, i).

    Four sums in a fixed order, not a reduction left to the compiler: both directions must agree
    to the last bit, or two clusters could each prefer a third.
    """
    a = b = c = d = 0.0
    width = centroids.shape[1]
    whole = width - width % 4
    for k in range(0, whole, 4):
        a += (centroids[i, k] - centroids[j, k]) ** 2
        b += (centroids[i, k + 1] - centroids[j, k + 1]) ** 2
        c += (centroids[i, k + 2] - centroids[j, k + 2]) ** 2
        d += (centroids[i, k + 3] - centroids[j, k + 3]) ** 2
    for k in range(whole, width):
        a += (centroids[i, k] - centroids[j, k]) ** 2
    return ((a + b) + (c + d)) / (inverse_sizes[i] + inverse_sizes[j])


@compiled(
    "float32(float32[::1], float32[::1], float32[::1], int64, float32[::1])",
    fastmath={"nnan", "ninf", "nsz", "contract", "reassoc"},
)
def _lower_bounds(dots, norms, inverse_sizes, i, bounds):
    """Bound the criterion of ``i`` with every cluster from below; return the smallest bound."""
    norm, inverse = norms[i], inverse_sizes[i]
    # As many minima as fill the vector registers: one alone would make the loop wait on itself.
    lows = np.full(_LANES, _FAR)
    whole = len(dots) - len(dots) % _LANES
    for start in range(0, whole, _LANES):
        for lane in range(_LANES):
            j = start + lane
            bound = (norm + norms[j] - _TWO * dots[j]) / (inverse + inverse_sizes[j])
            bounds[j] = bound
            lows[lane] = min(lows[lane], bound)
    for j in range(whole, len(dots)):
        bounds[j] = (norm + norms[j] - _TWO * dots[j]) / (inverse + inverse_sizes[j])
        lows[0] = min(lows[0], bounds[j])
    return lows.min()


@compiled("boolean(float64, float64)")
def _tied(second, smallest):
    """Tell whether two values differ by less than rounding of points and centroids can move."""
    return second <= smallest * (1.0 + 1e-12) + 1e-15 * np.sqrt(smallest) + 1e-30


@compiled("float32(float64)")
def _reach(best):
    """Return the bound up to which a pair may still win or tie, with room to round to float32."""
    return np.float32(best * (1.0 + 1e-6) + 1e-14 * np.sqrt(best) + 1e-29)


@compiled(
    "void(int64[::1], float32[:,::1], float32[::1], float32[::1], float64[:,::1], float64[::1],"
    " float64[::1], int64[::1], boolean[::1])"
)
def find_nearest(rows, dots, norms32, inverse32, centroids, inverse_sizes, smallest, nearest, tied):
    """Find the nearest cluster of each of ``rows``: the exact minimum, of lower index on a tie.

    ``dots`` are the float32 products of the rows with all centroids; ``norms32`` are squared norms
    reduced by what the products can be wrong by. The last three arrays are written at ``rows``.
    """
    bounds = np.empty(dots.shape[1], np.float32)
    for r in range(len(rows)):
        i = rows[r]
        dots[r, i] = -_FAR  # no cluster is its own neighbour
        low = _lower_bounds(dots[r], norms32, inverse32, i, bounds)
        seed = 0
        while bounds[seed] != low:
            seed += 1
        best, partner, second = _criterion(centroids, inverse_sizes, i, seed), seed, np.inf
        limit = _reach(best)
        for j in range(len(bounds)):
            if bounds[j] <= limit and j != seed:
                value = _criterion(centroids, inverse_sizes, i, j)
                if value < best or (value == best and j < partner):
                    second, best, partner = best, value, j
                    limit = _reach(best)
                elif value < second:
                    second = value
                # Among many duplicates the first two tell all there is to know.
                if best == 0.0 and second == 0.0 and j > partner:
                    break
        smallest[i], nearest[i], tied[i] = best, partner, _tied(second, best)

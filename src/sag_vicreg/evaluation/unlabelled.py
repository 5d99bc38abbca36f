"""Measures of one embedding that ask for no labels: rank, spectrum, uniformity, alignment."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.arrays import Array
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.checks import check_vectors, unit_rows
from sag_vicreg.progress import progress_bar
from sag_vicreg.structure.parallel import blocks

_BLOCK = 2048


@dataclass(frozen=True)
class LabelFree:
    """RankMe, alpha-ReQ, uniformity and, of two views, alignment."""

    rankme: float
    alpha_req: float | None
    """None where fewer than two directions vary."""
    uniformity: float
    alignment: float | None
    """None where only one view was given."""

    def scores(self) -> dict[str, float]:
        """Return the measures there are by their flat keys."""
        return {
            f"label_free.{name}": value for name, value in asdict(self).items() if value is not None
        }


def label_free(vectors: ArrayLike, view: ArrayLike | None = None) -> LabelFree:
    """Measure an embedding without labels; ``view`` embeds other views of the same images."""
    return LabelFree(
        rankme=rankme(vectors),
        alpha_req=alpha_req(vectors),
        uniformity=uniformity(vectors),
        alignment=None if view is None else alignment(vectors, view),
    )


def rankme(vectors: ArrayLike) -> float:
    """Return the effective rank: the exponential of the entropy of the singular values.

    From 1, everything on one line, to the dimension, all directions equally strong; higher
    usually means better transfer. Vectors are not centred, as in the paper that proposes it
    (Garrido et al., 2023, arXiv 2210.02885).

    Examples
    --------
    >>> round(rankme(np.eye(8)), 3)
    8.0
    """
    singular = np.sqrt(_gram_eigenvalues(_scaled(check_vectors(vectors, "vectors"))))
    if not singular.any():
        raise InputError("every vector is zero: RankMe is not defined")
    shares = singular / singular.sum() + 1e-7
    return float(np.exp(-(shares * np.log(shares)).sum()))


def alpha_req(vectors: ArrayLike) -> float | None:
    """Return the decay ``alpha`` of the covariance spectrum, eigenvalue ``i`` going as i^-alpha.

    A line through (log i, log eigenvalue) with weights 1/i, so that every octave counts alike,
    over all eigenvalues above rounding. Near 1 is best by Agrawal et al. (2022, "alpha-ReQ"): a
    slower decay is noise, a faster one collapse. None where fewer than two directions vary.
    """
    matrix = _scaled(check_vectors(vectors, "vectors"))
    spectrum = _gram_eigenvalues(matrix - matrix.mean(axis=0))
    # Below this is rounding: the centred columns' own, n eps of an eigenvalue of the raw matrix.
    floor = max(matrix.shape) * np.finfo(np.float64).eps * (matrix**2).sum()
    spectrum = spectrum[spectrum > floor]
    if len(spectrum) < 2:
        return None
    ranks = np.arange(1, len(spectrum) + 1)
    return float(-np.polyfit(np.log(ranks), np.log(spectrum), 1, w=1 / np.sqrt(ranks))[0])


def uniformity(vectors: ArrayLike) -> float:
    """Return ``log mean exp(-2 ||x - y||^2)`` over all pairs of unit vectors.

    Lower is more evenly spread over the sphere; 0 is all in one point
    (Wang and Isola, 2020, arXiv 2005.10242). Exact, in blocks.
    """
    unit = unit_rows(check_vectors(vectors, "vectors"))
    squares = (unit**2).sum(axis=1)
    n = len(unit)
    every = blocks(n, _BLOCK)
    total = 0.0
    with progress_bar("uniformity", total=n) as advance:
        for place, rows in enumerate(every):
            for columns in every[place:]:
                kernel = unit[rows] @ unit[columns].T
                kernel *= 4
                kernel -= 2 * squares[rows, None]
                kernel -= 2 * squares[None, columns]
                np.exp(kernel, out=kernel)
                if columns is rows:
                    # Each pair once: the block on the diagonal holds them twice, and itself.
                    total += (kernel.sum(dtype=np.float64) - np.trace(kernel, dtype=float)) / 2
                else:
                    total += kernel.sum(dtype=np.float64)
            advance(rows.stop - rows.start)
    # Rounding can push identical points a hair above 0.
    return min(0.0, float(np.log(total / (n * (n - 1) / 2))))


def alignment(vectors: ArrayLike, view: ArrayLike) -> float:
    """Return the mean squared distance of two views' unit vectors, row by row; 0 is perfect."""
    a, b = check_vectors(vectors, "vectors"), check_vectors(view, "view")
    if a.shape != b.shape:
        raise InputError(f"the views have shapes {a.shape} and {b.shape}: embed the same images")
    difference = unit_rows(a) - unit_rows(b)
    return float((difference.astype(np.float64) ** 2).sum(axis=1).mean())


def _scaled(matrix: Array) -> NDArray[np.float64]:
    """Return the matrix in float64 with largest entry 1, so that its squares stay in range."""
    largest: Any = np.abs(matrix).max()
    return np.asarray(matrix, dtype=np.float64) / (largest if largest > 0 else 1.0)


def _gram_eigenvalues(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared singular values, largest first, from the smaller of the two Grams."""
    n, d = matrix.shape
    gram = matrix.T @ matrix if d <= n else matrix @ matrix.T
    return np.maximum(np.linalg.eigvalsh(gram)[::-1].astype(np.float64), 0.0)

"""What a user hands over, turned into points of a geometry or refused in one line."""

import warnings
from typing import Any

import numpy as np

from sag_vicreg.arrays import Floats, Ints
from sag_vicreg.errors import InputError, unknown_name

GEOMETRIES = ("cosine", "spherical", "euclidean")
FEWEST_POINTS = 3
LARGEST = 1e18
"""Of the numbers in a vector: float32 holds their squares, and sums of these."""


def check_geometry(geometry: str) -> None:
    """Refuse a geometry that does not exist."""
    if geometry not in GEOMETRIES:
        raise unknown_name("geometry", geometry, GEOMETRIES)


def as_vectors(vectors: Any, name: str = "embeddings") -> Floats:
    """Turn an array, a list or a torch tensor of any float dtype into float64, shape (n, d)."""
    if hasattr(vectors, "detach"):  # a tensor: `structure` never imports torch to ask
        vectors = vectors.detach().cpu()
        if "bfloat16" in str(vectors.dtype):
            vectors = vectors.float()
    if hasattr(vectors, "vectors"):
        raise InputError(
            f"{name} is a set with ids: bring both sets in one order by artifacts.join, then give "
            "their .vectors"
        )
    try:
        array = np.asarray(vectors)
    except ValueError as error:
        raise InputError(f"{name}: rows differ in length; expected n rows of d numbers") from error
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}: expected numbers, convert to float")
    if array.ndim != 2:
        raise InputError(
            f"{name} has shape {array.shape}: expected two axes, one row an item, one column a "
            "dimension"
        )
    n, d = array.shape
    if n < FEWEST_POINTS:
        raise InputError(f"{name} has {n} rows: a tree needs at least {FEWEST_POINTS}")
    if d < 1:
        raise InputError(f"{name} has no columns: expected at least one dimension")
    points = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(f"{name}: row {row} holds NaN or infinity; remove or repair it")
    if n == d and not np.diag(points).any() and np.array_equal(points, points.T):
        warnings.warn(
            f"{name} is square, symmetric and zero on the diagonal: it looks like a distance "
            "matrix, but its rows are taken as embeddings",
            stacklevel=3,
        )
    return points


def near_one(values: Floats) -> Floats:
    """Scale by the power of two that brings the largest entry near 1.

    That is exact, no correlation sees it, and squares stay in float64's range.
    """
    _, exponent = np.frexp(np.abs(values).max())
    scaled: Floats = np.ldexp(values, -exponent)
    return scaled


def centred(values: Floats, counts: Ints) -> tuple[Floats, float]:
    """Return values less their mean, each counted so often, and the sum of the squares of these.

    The values are brought near 1 first: heights may be of any size, and so would their squares be.
    """
    scaled = near_one(values)
    apart = scaled - np.average(scaled, weights=counts)
    return apart, float((apart**2 * counts).sum())


def as_points(vectors: Floats, geometry: str, name: str = "embeddings") -> Floats:
    """Return the points ``geometry`` measures between: unit vectors, or the vectors themselves."""
    largest = np.abs(vectors).max(axis=1)
    if geometry != "euclidean":
        if not largest.all():
            row = int(np.argmin(largest))
            raise InputError(
                f"{name}: row {row} is a zero vector, which has no direction; remove it or use "
                "geometry 'euclidean'"
            )
        # By the largest entry first: squares of very large or small entries leave float64's range.
        vectors = vectors / largest[:, None]
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    if np.ptp(vectors, axis=0).max() <= 1e-15 * np.abs(vectors).max():
        raise InputError(
            f"{name} is constant: all {len(vectors)} rows are the same point, so correlations are "
            "undefined"
        )
    return vectors

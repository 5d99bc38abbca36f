"""What a tree needs and what the machine has, compared before anything is allocated."""

from sag_vicreg.arrays import Floats
from sag_vicreg.errors import InputError
from sag_vicreg.machine import available_bytes


def tree_bytes(n: int, d: int, geometry: str) -> int:
    """Estimate the peak memory of one tree and its cophenetic similarity."""
    # Points, centroids in both precisions, their copies while a round is merged.
    vectors = n * d * 8 * 5 + n * 500
    if geometry == "cosine":
        return n * (n - 1) // 2 * 8 + vectors
    return vectors + 4 * 128 * n * 8


def check_fits(vectors: Floats, geometry: str, *, halves: int = 0) -> None:
    """Refuse the tree of so many rows if it cannot fit; name the geometry that would.

    The trees of ``halves`` random halves may stand beside it at the same time.
    """
    n, d = vectors.shape

    def total(geometry: str) -> int:
        return tree_bytes(n, d, geometry) + halves * tree_bytes(n // 2, d, geometry)

    needed, free = total(geometry), available_bytes()
    if free is None or needed <= free:
        return
    remedy = "set OMP_NUM_THREADS to fewer threads" if halves > 1 else "take fewer rows"
    if geometry == "cosine" and (smaller := total("spherical")) <= free:
        remedy = f"geometry 'spherical' needs about {gigabytes(smaller)}"
    raise InputError(
        f"{n:,} rows in geometry '{geometry}' need about {gigabytes(needed)} and "
        f"{gigabytes(free)} are free: {remedy}"
    )


def gigabytes(size: int) -> str:
    """Write a number of bytes for people."""
    return f"{size / 1e6:,.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"

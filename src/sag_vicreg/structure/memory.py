"""What a tree needs and what the machine has, compared before anything is allocated."""

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sag_vicreg.errors import InputError

_CGROUP = Path("/sys/fs/cgroup")


def tree_bytes(n: int, d: int, geometry: str) -> int:
    """Estimate the peak memory of one tree and its cophenetic similarity."""
    # Points, centroids in both precisions, their copies while a round is merged.
    vectors = n * d * 8 * 5 + n * 500
    if geometry == "cosine":
        return n * (n - 1) // 2 * 8 + vectors
    return vectors + 4 * 128 * n * 8


def available_bytes() -> int | None:
    """Memory this process may still take, or None where the system does not tell."""
    free = None
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    left = _left_in_container()
    return min((size for size in (free, left) if size is not None), default=None)


def _left_in_container() -> int | None:
    """Return what a container's own limit leaves; None where there is no limit."""
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        held = {name: int(size) for name, size in (line.split() for line in lines)}
    except (OSError, ValueError):
        return None
    # Files that were read count as used until somebody needs the room.
    reclaimable = ("active_file", "inactive_file", "slab_reclaimable")
    return limit - used + sum(held.get(name, 0) for name in reclaimable)


def check_fits(vectors: npt.NDArray[np.float64], geometry: str) -> None:
    """Refuse a tree that cannot fit, and name the geometry that would."""
    n, d = vectors.shape
    needed, free = tree_bytes(n, d, geometry), available_bytes()
    if free is None or needed <= free:
        return
    remedy = "take fewer rows"
    if geometry == "cosine" and (smaller := tree_bytes(n, d, "spherical")) <= free:
        remedy = f"geometry 'spherical' needs about {_gigabytes(smaller)}"
    raise InputError(
        f"{n:,} rows in geometry '{geometry}' need about {_gigabytes(needed)} and "
        f"{_gigabytes(free)} are free: {remedy}"
    )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"

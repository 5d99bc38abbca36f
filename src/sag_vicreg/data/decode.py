"""From encoded images to one resident tensor, decoded once and cached."""

import hashlib
import os
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from platformdirs import user_cache_path
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from sag_vicreg.artifacts import atomic_path
from sag_vicreg.data.encoded import CorruptImageError, EncodedImages
from sag_vicreg.errors import InputError
from sag_vicreg.progress import track

# Raise it when decoding changes, so that older caches are not read.
_CACHE_VERSION = 1
# Decoding quicker than this is not worth a file.
_WORTH_CACHING_SECONDS = 1.0


def cache_folder() -> Path:
    """Name ``$SAG_VICREG_CACHE`` or the user's cache folder; nothing is written beside a source."""
    chosen = os.environ.get("SAG_VICREG_CACHE")
    return Path(chosen) if chosen else user_cache_path("sag-vicreg")


def decode_squares(
    encoded: EncodedImages,
    size: int,
    *,
    name: str,
    skip_corrupt: bool = False,
) -> tuple[Tensor, NDArray[np.int64]]:
    """Decode every image to its centre square.

    Parameters
    ----------
    name
        Of the dataset, for the progress bar and the cache's file; the cache is used only while
        the source's names, sizes and times are the same.
    skip_corrupt
        Leave corrupt images out instead of raising on the first.

    Returns
    -------
    pixels, kept
        uint8 (m, 3, size, size), and the indices of the m images that could be decoded.
    """
    key = f"{_CACHE_VERSION}|{size}|{encoded.fingerprint()}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:24]
    path = cache_folder() / "decoded" / f"{name}-{size}px-{digest}.safetensors"
    cached = _read(path)
    if cached is not None and (skip_corrupt or len(cached[1]) == len(encoded)):
        return cached
    start = time.perf_counter()
    squares = np.empty((len(encoded), size, size, 3), dtype=np.uint8)
    kept: list[int] = []
    decoded = track(encoded.squares(size), f"decoding {name}", total=len(encoded))
    for index, square in enumerate(decoded):
        if isinstance(square, CorruptImageError):
            if not skip_corrupt:
                raise square
            continue
        squares[len(kept)] = square
        kept.append(index)
    pixels = torch.from_numpy(squares[: len(kept)]).permute(0, 3, 1, 2).contiguous()
    indices = np.array(kept, dtype=np.int64)
    if time.perf_counter() - start > _WORTH_CACHING_SECONDS:
        _write(path, pixels, indices)
    return pixels, indices


def _read(path: Path) -> tuple[Tensor, NDArray[np.int64]] | None:
    try:
        tensors = load_file(path)
        return tensors["pixels"], tensors["kept"].numpy()
    except (OSError, SafetensorError, KeyError):
        return None


def _write(path: Path, pixels: Tensor, kept: NDArray[np.int64]) -> None:
    try:
        with atomic_path(path) as temporary:
            save_file({"pixels": pixels, "kept": torch.from_numpy(kept)}, temporary)
    except (InputError, OSError, SafetensorError):
        # A full disk or a read-only home costs time at the next start, not the work at hand.
        return

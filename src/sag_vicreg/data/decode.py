"""From encoded images to one resident tensor, decoded once and cached."""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from platformdirs import user_cache_path
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from sag_vicreg.artifacts import atomic_path
from sag_vicreg.data.encoded import CorruptImageError, EncodedImages
from sag_vicreg.errors import InputError
from sag_vicreg.machine import core_count
from sag_vicreg.progress import progress_bar

# Raise it when decoding changes, so that older caches are not read.
_CACHE_VERSION = 1
# Images handed to a worker at a time, and from how many such parts on workers are worth starting.
_PART = 256
_WORTH_WORKERS = 8


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
    pixels = torch.empty(len(encoded), 3, size, size, dtype=torch.uint8)
    kept: list[int] = []
    with progress_bar(f"decoding {name}", len(encoded)) as advance:
        for part in _decoded(encoded, size):
            if part.errors and not skip_corrupt:
                raise CorruptImageError(part.errors[0])
            pixels[len(kept) : len(kept) + len(part.kept)] = part.pixels
            kept += part.kept
            advance(len(part.kept) + len(part.errors))
    pixels, indices = pixels[: len(kept)], np.array(kept, dtype=np.int64)
    _write(path, pixels, indices)
    return pixels, indices


@dataclass(frozen=True)
class _Part:
    """Some images decoded: pixels and indices of the sound ones, what is wrong with the others."""

    pixels: Tensor
    kept: list[int]
    errors: list[str]


class _Parts(Dataset[_Part]):
    def __init__(self, encoded: EncodedImages, size: int) -> None:
        self.encoded, self.size = encoded, size

    def __getitem__(self, indices: range) -> _Part:
        squares, kept, errors = [], [], []
        for index in indices:
            try:
                squares.append(self.encoded.square(index, self.size))
                kept.append(index)
            except CorruptImageError as error:
                errors.append(str(error))
        shape = (len(kept), self.size, self.size, 3)
        pixels = torch.from_numpy(np.array(squares, dtype=np.uint8).reshape(shape))
        return _Part(pixels.permute(0, 3, 1, 2), kept, errors)


def _decoded(encoded: EncodedImages, size: int) -> Iterable[_Part]:
    """Decode all images in order, on every core where there are many."""
    starts = range(0, len(encoded), _PART)
    parts = [range(start, min(start + _PART, len(encoded))) for start in starts]
    workers = 0 if len(parts) < _WORTH_WORKERS else core_count()
    if workers:
        encoded.share()
    return DataLoader(
        _Parts(encoded, size),
        sampler=parts,
        batch_size=None,
        num_workers=workers,
        # A loader seeds its workers; without a generator of its own it would move the caller's.
        generator=torch.Generator(),
    )


def _read(path: Path) -> tuple[Tensor, NDArray[np.int64]] | None:
    try:
        tensors = load_file(path)
        return tensors["pixels"], tensors["kept"].numpy()
    except (OSError, SafetensorError, KeyError):
        return None


def _write(path: Path, pixels: Tensor, kept: NDArray[np.int64]) -> None:
    # A full disk or a read-only home costs time at the next start, not the work at hand.
    with suppress(InputError, OSError, SafetensorError), atomic_path(path) as temporary:
        save_file({"pixels": pixels, "kept": torch.from_numpy(kept)}, temporary)

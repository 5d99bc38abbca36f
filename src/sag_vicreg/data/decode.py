"""From encoded images to one resident tensor, decoded once and cached."""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from platformdirs import user_cache_path
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import DataLoader

from sag_vicreg.artifacts import atomic_path
from sag_vicreg.data.encoded import CorruptImageError, EncodedImages
from sag_vicreg.errors import InputError
from sag_vicreg.machine import core_count
from sag_vicreg.progress import progress_bar

# Raise it when decoding changes, so that older caches are not read.
_CACHE_VERSION = 1
# Images handed to a worker at a time, and beyond how many workers are worth starting.
_PART = 256
_WORTH_WORKERS = 7 * _PART

Part = tuple[Tensor, list[int], list[CorruptImageError]]
"""Some images decoded: pixels and indices of the sound ones, what is wrong with the others."""


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
    # Nothing is written beside a source.
    cache = Path(os.environ.get("SAG_VICREG_CACHE") or user_cache_path("sag-vicreg"))
    path = cache / "decoded" / f"{name}-{size}px-{digest}.safetensors"
    cached = _read(path)
    if cached is not None and (skip_corrupt or len(cached[1]) == len(encoded)):
        return cached
    pixels = torch.empty(len(encoded), 3, size, size, dtype=torch.uint8)
    kept: list[int] = []
    with progress_bar(f"decoding {name}", total=len(encoded)) as advance:
        for squares, sound, errors in _decoded(encoded, size):
            if errors and not skip_corrupt:
                raise errors[0]
            pixels[len(kept) : len(kept) + len(sound)] = squares
            kept += sound
            advance(len(sound) + len(errors))
    pixels, indices = pixels[: len(kept)], np.array(kept, dtype=np.int64)
    # A full disk or a read-only home costs time at the next start, not the work at hand.
    with suppress(InputError, OSError, SafetensorError), atomic_path(path) as temporary:
        save_file({"pixels": pixels, "kept": torch.from_numpy(indices)}, temporary)
    return pixels, indices


def _decoded(encoded: EncodedImages, size: int) -> Iterable[Part]:
    """Decode all images in order, on every core where there are many."""
    workers = core_count() if len(encoded) > _WORTH_WORKERS else 0
    if workers:
        encoded.share()
    return DataLoader(
        range(len(encoded)),  # type: ignore[arg-type]  # a sequence will do
        batch_size=_PART,
        collate_fn=partial(_decode, encoded, size),
        num_workers=workers,
        # A loader seeds its workers; without a generator of its own it would move the caller's.
        generator=torch.Generator(),
    )


def _decode(encoded: EncodedImages, size: int, indices: list[int]) -> Part:
    """Decode some images into one tensor, which workers hand over in shared memory."""
    squares, sound, errors = [], [], []
    for index in indices:
        try:
            squares.append(encoded.square(index, size))
            sound.append(index)
        except CorruptImageError as error:
            errors.append(error)
    pixels = np.array(squares, dtype=np.uint8).reshape(-1, size, size, 3)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2), sound, errors


def _read(path: Path) -> tuple[Tensor, NDArray[np.int64]] | None:
    try:
        tensors = load_file(path)
        return tensors["pixels"], tensors["kept"].numpy()
    except (OSError, SafetensorError, KeyError):
        return None

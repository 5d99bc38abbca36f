"""Thumbnails packed into a few large WebP images.

One file per thumbnail costs about four times as much: every WebP carries its own header and
entropy tables, and ten thousand data URLs their own markup.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from sag_vicreg.errors import InputError
from sag_vicreg.progress import track

ATLAS_SIDE = 2048
QUALITIES = (80, 65, 50, 35, 20)
BYTE_BUDGET = 5_500_000
MOST_PIXELS = 1024
"""Of a thumbnail's side; those that `embed` writes have 64."""


@dataclass(frozen=True)
class Atlas:
    """Square tiles, ``columns`` across and down; ``tiles[i]`` is that of point i, or -1."""

    images: tuple[bytes, ...]
    columns: int
    tiles: NDArray[np.int32]


def build_atlas(
    thumbnails: Mapping[str, bytes], ids: Sequence[str], *, byte_budget: int = BYTE_BUDGET
) -> Atlas | None:
    """Pack the thumbnails of ``ids`` in that order; None where none of them has one.

    Tiles are multiples of 16 pixels, WebP's blocks, so that neighbours do not bleed into each
    other. Many images get small tiles, then a lower quality, until all fit ``byte_budget``.
    """
    wanted = [identity for identity in ids if identity in thumbnails]
    if not wanted:
        return None
    side = _tile_side(min(_decode(thumbnails[wanted[0]], wanted[0]).size), len(wanted))
    columns = min(ATLAS_SIDE // side, int(np.ceil(np.sqrt(len(wanted)))))
    sheets = []
    for place, identity in enumerate(track(wanted, "thumbnails")):
        within = place % columns**2
        if within == 0:
            rows = min(columns, -(-(len(wanted) - place) // columns))
            sheets.append(Image.new("RGB", (columns * side, rows * side)))
        image = _decode(thumbnails[identity], identity)
        tile = ImageOps.fit(image, (side, side), Image.Resampling.BOX)
        sheets[-1].paste(tile, (within % columns * side, within // columns * side))
    place_of = {identity: place for place, identity in enumerate(wanted)}
    tiles = np.array([place_of.get(identity, -1) for identity in ids], dtype=np.int32)
    for quality in QUALITIES:
        images = tuple(_encode(sheet, quality) for sheet in sheets)
        if sum(map(len, images)) <= byte_budget:
            break
    return Atlas(images, columns, tiles)


def _tile_side(size: int, count: int) -> int:
    most = 96 if count <= 600 else 64 if count <= 2500 else 48 if count <= 5000 else 32
    return min(most, max(16, size // 16 * 16))


def _decode(webp: bytes, identity: str) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(webp), formats=["WEBP"])
        if max(image.size) > MOST_PIXELS:  # a few bytes can stand for gigabytes of pixels
            raise ValueError(f"{image.width} x {image.height} pixels")
        return image.convert("RGB")
    except Exception as error:  # decoders of damaged bytes raise what they like
        raise InputError(
            f"the thumbnail of '{identity}' is not a small WebP image ({error}): delete "
            "thumbnails.parquet, and make it again with `sag-vicreg embed`"
        ) from error


def _encode(sheet: Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=quality, method=4)
    return buffer.getvalue()

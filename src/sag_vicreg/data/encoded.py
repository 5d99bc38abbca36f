"""Images as files hold them: bytes, decoded one by one, any mode turned into RGB."""

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sag_vicreg.errors import InputError
from sag_vicreg.machine import core_count

Box = tuple[int, int, int, int]


class CorruptImageError(InputError):
    """An image that cannot be decoded; the message names its file or row."""


class ByteSource(Protocol):
    """Where encoded images are kept: a list of files, a column of a table."""

    def read(self, place: int) -> bytes | None:
        """Read the bytes of one image; ``None`` where there is none."""

    def name(self, place: int) -> str:
        """Say which image it is, for an error."""

    def fingerprint(self, places: NDArray[np.int64]) -> str:
        """Describe the state of these images now; it changes when they do."""


@dataclass(frozen=True)
class Files:
    """Images in files of their own."""

    paths: Sequence[Path]

    def read(self, place: int) -> bytes:
        """Read one file."""
        try:
            return self.paths[place].read_bytes()
        except OSError as error:
            raise CorruptImageError(f"cannot read {self.name(place)}: {error.strerror}") from error

    def name(self, place: int) -> str:
        """Give the file's path."""
        return str(self.paths[place])

    def fingerprint(self, places: NDArray[np.int64]) -> str:
        """Give names, sizes and times."""
        return fingerprint_files([self.paths[place] for place in places])


def fingerprint_files(paths: Sequence[Path]) -> str:
    """Describe files by path, size and time of change."""
    states = ((path.resolve(), path.stat()) for path in paths)
    return "\n".join(f"{path}|{state.st_size}|{state.st_mtime_ns}" for path, state in states)


@dataclass(frozen=True, eq=False)
class EncodedImages:
    """Some images of a source, still encoded, in the order of ``places``."""

    source: ByteSource
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)

    def select(self, indices: NDArray[np.int64]) -> "EncodedImages":
        """Select the images at ``indices``, in that order."""
        return EncodedImages(self.source, self.places[indices])

    def share(self) -> None:
        """Read what all images share, a parquet column, before worker processes part ways."""
        self.source.read(int(self.places[0]))

    def fingerprint(self) -> str:
        """Describe which images these are and their state now."""
        return f"{self.source.fingerprint(self.places)}\n{self.places.tolist()}"

    def open(self, index: int) -> Image.Image:
        """Decode one image, whole, as RGB."""
        place = int(self.places[index])
        data = self.source.read(place)
        if data is None:
            raise CorruptImageError(f"{self.source.name(place)} has no image")
        return decode_rgb(data, self.source.name(place))

    def square(self, index: int, size: int) -> NDArray[np.uint8]:
        """Decode the largest centred square of one image, resized to (size, size, 3)."""
        image = self.open(index)
        width, height = image.size
        if width == height == size:
            return np.asarray(image)
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        return resize_box(image, (left, top, left + side, top + side), size)

    def squares(self, indices: Sequence[int], size: int) -> NDArray[np.uint8]:
        """Decode the centre squares of several images, (b, size, size, 3), on every core.

        Threads do, as Pillow lets go of the interpreter while it decodes and resizes.
        """
        self.share()
        with ThreadPoolExecutor(core_count()) as pool:
            return np.stack(list(pool.map(lambda index: self.square(index, size), indices)))

    def is_readable(self, index: int) -> bool:
        """Whether an image can be decoded."""
        with suppress(CorruptImageError):
            self.open(index)
            return True
        return False


# Whatever a file is called, only these are decoded: for some others Pillow starts a program, such
# as Ghostscript for an EPS file that calls itself PNG.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")


def decode_rgb(data: bytes, name: str) -> Image.Image:
    """Decode ``data`` as an RGB image; grey, palette, CMYK, alpha and 16-bit are converted."""
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
        image.load()
    except Exception as error:  # decoders of damaged bytes raise what they like
        raise CorruptImageError(
            f"{name} is not a readable image ({error}): replace or remove it, or in Python leave "
            "such images out by load_dataset(..., skip_corrupt=True)"
        ) from error
    if image.mode.startswith("I"):
        # Pillow clips 16-bit grey to 255 instead of scaling it.
        image = Image.fromarray((np.asarray(image).clip(0, 65535) // 257).astype(np.uint8))
    return image if image.mode == "RGB" else image.convert("RGB")


def resize_box(image: Image.Image, box: Box, size: int) -> NDArray[np.uint8]:
    """Resize the part of ``image`` in ``box`` (left, top, right, bottom) to (size, size, 3)."""
    # Cut out first: resize(box=...) would let pixels outside the box shine in.
    return np.asarray(image.crop(box).resize((size, size), Image.Resampling.BICUBIC))

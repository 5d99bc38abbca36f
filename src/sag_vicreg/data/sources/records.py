"""What a source hands over: every image of a split, not yet selected, not yet decoded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sag_vicreg.data.encoded import EncodedImages
from sag_vicreg.data.splits import Classes, seeded_split
from sag_vicreg.errors import InputError


@dataclass(frozen=True)
class Request:
    """What ``load_dataset`` was asked for, as far as a source may care."""

    root: Path | None
    split: str
    seed: int
    image_size: int | None
    classes: Classes
    max_images: int | None

    @property
    def path(self) -> Path:
        """``root`` of a source that has one."""
        assert self.root is not None
        return self.root

    def refuse_all(self, name: str | Path) -> None:
        """Refuse ``split="all"`` of what comes as train and test."""
        if self.split == "all":
            raise InputError(f"{name} comes as train and test: load one of them, not 'all'")


@dataclass(frozen=True)
class Records:
    """All images of one split of one source.

    Exactly one of ``pixels`` (already decoded, square) and ``encoded`` is given.
    """

    class_names: tuple[str, ...]
    labels: NDArray[np.int64]
    ids: list[str]
    pixels: Tensor | None = None
    encoded: EncodedImages | None = None

    def select(self, indices: NDArray[np.int64]) -> "Records":
        """Select the images at ``indices``, in that order."""
        return Records(
            self.class_names,
            self.labels[indices],
            [self.ids[i] for i in indices],
            None if self.pixels is None else self.pixels[indices],
            None if self.encoded is None else self.encoded.select(indices),
        )

    def split_by_seed(self, request: Request) -> "Records":
        """Select the train or test part of a source that has no split of its own."""
        return self.select(seeded_split(self.labels, request.split, seed=request.seed))


def problem_of(found: Any) -> str | None:
    """Say what is wrong with what a source of another package returned; None where nothing is."""
    if not isinstance(found, Records):
        return f"returned a {type(found).__name__}, not sag_vicreg.data.Records"
    n, pixels = len(found.ids), found.pixels
    images = pixels if found.encoded is None else found.encoded
    if images is None or (pixels is not None and found.encoded is not None):
        return "gave not exactly one of pixels and encoded images"
    if not n == len(found.labels) == len(images) == len(set(found.ids)):
        return (
            f"gave {len(images)} images, {len(found.labels)} labels and {n} ids, "
            f"{len(set(found.ids))} of them different"
        )
    if not isinstance(found.labels, np.ndarray) or found.labels.dtype != np.int64:
        return "gave labels that are no NumPy array of int64"
    if not np.isin(found.labels, np.arange(len(found.class_names))).all():
        return f"gave labels that do not count its {len(found.class_names)} class names from 0"
    if pixels is not None and (
        pixels.dtype != torch.uint8
        or pixels.ndim != 4
        or pixels.shape[1] != 3
        or pixels.shape[2] != pixels.shape[3]
    ):
        return (
            f"gave pixels of {pixels.dtype} and shape {tuple(pixels.shape)}, not "
            "uint8 (n, 3, size, size)"
        )
    return None

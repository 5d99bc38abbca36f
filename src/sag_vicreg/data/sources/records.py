"""What a source hands over: every image of a split, not yet selected, not yet decoded."""

from dataclasses import dataclass
from pathlib import Path

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

    def refuse_all(self, name: str) -> None:
        """Refuse ``split="all"`` for a dataset whose train and test sets are official."""
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

    def problem(self) -> str | None:
        """Say what is wrong with records that another package made; None where nothing is."""
        n, images = len(self.ids), self.pixels if self.encoded is None else self.encoded
        if images is None or (self.pixels is not None and self.encoded is not None):
            return "gave not exactly one of pixels and encoded images"
        if not n == len(self.labels) == len(images) == len(set(self.ids)):
            return (
                f"gave {len(images)} images, {len(self.labels)} labels and {n} ids, "
                f"{len(set(self.ids))} of them different"
            )
        if not isinstance(self.labels, np.ndarray) or self.labels.dtype != np.int64:
            return "gave labels that are no NumPy array of int64"
        if not np.isin(self.labels, np.arange(len(self.class_names))).all():
            return f"gave labels that do not count its {len(self.class_names)} class names from 0"
        if self.pixels is not None and (
            self.pixels.dtype != torch.uint8
            or self.pixels.ndim != 4
            or self.pixels.shape[1] != 3
            or self.pixels.shape[2] != self.pixels.shape[3]
        ):
            return (
                f"gave pixels of {self.pixels.dtype} and shape {tuple(self.pixels.shape)}, not "
                "uint8 (n, 3, size, size)"
            )
        return None

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

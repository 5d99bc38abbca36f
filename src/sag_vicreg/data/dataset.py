"""What every dataset is, once loaded: images, labels, class names and one stable id per image."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from torch import Tensor

from sag_vicreg.data.encoded import EncodedImages, resize_box
from sag_vicreg.data.views import ViewDraw
from sag_vicreg.errors import InputError

Indices = Sequence[int] | NDArray[np.int64] | Tensor


@dataclass(frozen=True, eq=False)
class ImageDataset:
    """A split of a dataset, in memory or on disk.

    Small datasets hold every image in ``images``, one uint8 tensor. Large ones hold only where
    their images are: ``batch`` decodes their centres, ``crops`` the parts that views ask for.

    Attributes
    ----------
    name, split
        What was asked for.
    class_names
        All classes of the dataset, also after a split by class.
    labels
        Index into ``class_names`` of every image, int64 (n,).
    ids
        One string per image that stays the same between runs, machines and subsets.
    image_size
        Height and width of what ``batch`` returns.
    """

    name: str
    split: str
    class_names: tuple[str, ...]
    labels: Tensor
    ids: list[str]
    image_size: int
    pixels: Tensor | None = field(default=None, repr=False)
    encoded: EncodedImages | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        images: ArrayLike | Tensor,
        labels: Sequence[str] | Sequence[int] | None = None,
        *,
        ids: Sequence[str] | None = None,
        name: str = "own",
    ) -> "ImageDataset":
        """Make a dataset of images in memory.

        Parameters
        ----------
        images : uint8 (n, 3, size, size) or (n, size, size, 3)
            Square colour images.
        labels
            A class per image, by name or number; nothing is learnt from it.
        ids
            A name per image; by default its row.

        Examples
        --------
        >>> import numpy as np
        >>> ImageDataset.of(np.zeros((10, 32, 32, 3), np.uint8), ["cat", "dog"] * 5).class_names
        ('cat', 'dog')
        """
        pixels = torch.as_tensor(np.asarray(images))
        if pixels.ndim == 4 and pixels.shape[-1] == 3 and pixels.shape[1] != 3:
            pixels = pixels.permute(0, 3, 1, 2)
        n, *shape = pixels.shape if pixels.ndim else (0,)
        if pixels.dtype != torch.uint8 or not n or shape[:1] != [3] or len(set(shape[1:])) != 1:
            raise InputError(
                f"images are {pixels.dtype} of shape {tuple(pixels.shape)}: give uint8 values, "
                "(n, 3, size, size) or (n, size, size, 3)"
            )
        names = ["unlabelled"] * n if labels is None else [str(label) for label in labels]
        keys = [f"{row:06d}" for row in range(n)] if ids is None else [str(key) for key in ids]
        if not len(names) == len(set(keys)) == n:
            raise InputError(
                f"{n} images with {len(names)} labels and {len(set(keys))} different ids: give one "
                "of each per image"
            )
        classes, indices = np.unique(names, return_inverse=True)
        return cls(
            name=name,
            split="all",
            class_names=tuple(classes.tolist()),
            labels=torch.from_numpy(indices.astype(np.int64)),
            ids=keys,
            image_size=int(shape[1]),
            pixels=pixels.contiguous(),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def resident(self) -> bool:
        """Whether all images are in memory."""
        return self.pixels is not None

    @property
    def images(self) -> Tensor:
        """All images, uint8 (n, 3, height, width); refused where they are not in memory."""
        if self.pixels is None:
            raise InputError(
                f"the {len(self)} images of {self.name} are not held in memory: use "
                "batch(indices), or load fewer (max_images) or smaller ones (image_size)"
            )
        return self.pixels

    def batch(self, indices: Indices) -> Tensor:
        """Images at ``indices``, uint8 (b, 3, image_size, image_size).

        Images that are not square give their centre square.
        """
        chosen = torch.as_tensor(indices, dtype=torch.int64)
        if self.pixels is not None:
            return self.pixels[chosen]
        assert self.encoded is not None
        squares = self.encoded.squares(chosen.tolist(), self.image_size)
        return torch.from_numpy(squares).permute(0, 3, 1, 2).contiguous()

    def crops(self, indices: Indices, draws: Sequence[ViewDraw]) -> list[Tensor]:
        """Cut the drawn part out of every image, once per view, each image decoded only once.

        For images that are not in memory, in a worker process: ``Views.finish`` does the rest on
        the training device.

        Parameters
        ----------
        indices
            Which images.
        draws
            What ``Views.draw`` drew for them, one per view.

        Returns
        -------
        One uint8 tensor (b, 3, size, size) per view.
        """
        chosen = torch.as_tensor(indices, dtype=torch.int64).tolist()
        sizes = [draw.crop.size for draw in draws]
        crops = [torch.empty(len(chosen), 3, size, size, dtype=torch.uint8) for size in sizes]
        for row, index in enumerate(chosen):
            image = self._open(index)
            for view, draw in zip(crops, draws, strict=True):
                boxes = draw.crop[row : row + 1].boxes(image.height, image.width)
                top, left, height, width = boxes[0].tolist()
                pixels = resize_box(image, (left, top, left + width, top + height), draw.crop.size)
                view[row] = torch.from_numpy(pixels.copy()).permute(2, 0, 1)
        return crops

    def _open(self, index: int) -> Image.Image:
        if self.pixels is not None:
            return Image.fromarray(self.pixels[index].permute(1, 2, 0).numpy())
        assert self.encoded is not None
        return self.encoded.open(index)

    def label_names(self) -> list[str]:
        """Class name of every image."""
        return [self.class_names[label] for label in self.labels.tolist()]

    def select(self, indices: Indices) -> "ImageDataset":
        """Select the images at ``indices``, in that order."""
        chosen = torch.as_tensor(indices, dtype=torch.int64)
        return replace(
            self,
            labels=self.labels[chosen],
            ids=[self.ids[i] for i in chosen.tolist()],
            pixels=None if self.pixels is None else self.pixels[chosen],
            encoded=None if self.encoded is None else self.encoded.select(chosen.numpy()),
        )

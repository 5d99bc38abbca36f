"""Parts of a training that come as objects of the user's own instead of from the recipe."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sag_vicreg.data import ImageDataset
from sag_vicreg.errors import InputError
from sag_vicreg.methods import Method
from sag_vicreg.recipes import Recipe
from sag_vicreg.training.inputs import load_images


@dataclass(frozen=True, eq=False)
class OwnParts:
    """What stands in place of a recipe's method, backbone and images; None is the recipe's."""

    method: Method | None = None
    backbone: nn.Module | None = None
    dataset: ImageDataset | None = None
    test_dataset: ImageDataset | None = None

    def __post_init__(self) -> None:
        for name, kind in (("method", Method), ("backbone", nn.Module), ("dataset", ImageDataset)):
            part = getattr(self, name)
            if part is not None and not isinstance(part, kind):
                raise InputError(
                    f"{name} is a {type(part).__name__}: give a {kind.__module__}.{kind.__name__}"
                )
        if self.method is not None and self.backbone is not None:
            raise InputError("a method brings its backbone: give one of the two")
        if self.test_dataset is not None and self.dataset is None:
            raise InputError("test_dataset goes with dataset: give both, or neither")

    @property
    def architecture(self) -> str | None:
        """What to call a network that timm does not build; None for the recipe's."""
        part = self.backbone if self.method is None else self.method.encoder
        return None if part is None else _name(part)

    def digest(self, recipe: Recipe) -> str:
        """Address the training: a checkpoint goes on with the same parts only."""
        parts = [part for part in (self.method, self.backbone) if part is not None]
        names = [*map(_name, parts), *([self.dataset.name] if self.dataset else [])]
        return "+".join([recipe.digest(), *names])

    def monitored(
        self, recipe: Recipe, *, root: Path | str | None
    ) -> tuple[ImageDataset, ImageDataset]:
        """Return the images that vote and those that are classified while training is watched."""
        n = recipe.monitor.probe_images
        if self.dataset is None:
            bank = load_images(recipe, "train", root=root, max_images=n)
            return bank, load_images(recipe, "test", root=root, max_images=n)
        if self.test_dataset is not None:
            return _some(self.dataset, n), _some(self.test_dataset, n)
        some = _some(self.dataset, 2 * n)
        return some.select(range(0, len(some), 2)), some.select(range(1, len(some), 2))


def _some(images: ImageDataset, n: int) -> ImageDataset:
    """Select n images at even distances, or all where there are fewer."""
    return images.select(torch.linspace(0, len(images) - 1, min(n, len(images))).round().long())


def _name(part: object) -> str:
    return f"{type(part).__module__}.{type(part).__qualname__}"

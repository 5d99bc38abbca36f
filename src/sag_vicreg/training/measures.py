"""Seen while it runs: k-NN, rank, spread and structure drift of a fixed set of images."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np
import torch
from torch import Tensor, nn

from sag_vicreg.arrays import Floats32
from sag_vicreg.data import ImageDataset
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import hierarchical_knn, rankme
from sag_vicreg.hierarchy import Hierarchy
from sag_vicreg.recipes import Recipe
from sag_vicreg.structure.corrected import corrected_similarity
from sag_vicreg.training.encoder import Encoder

MEASURES = ("knn", "rankme", "embedding_std", "drift")
# A thousandth of the spread of directions drawn at random: nothing that learns looks like this.
COLLAPSED = 1e-3

_NEIGHBORS = 20
# Forests of this many images are compared in well under a second.
_DRIFT_IMAGES = 500


@contextmanager
def same_threads() -> Iterator[None]:
    """Give PyTorch the number of threads back that it had before the block.

    numba's OpenMP layer changes it, and with it the rounding: without this, a run would depend on
    how often it was measured.
    """
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class ImageMonitor:
    """Training images to vote and test images to be classified, the same throughout a run.

    Attributes
    ----------
    previous
        The vectors of the last measurement, which drift is measured from: part of a checkpoint.
    """

    def __init__(self, recipe: Recipe, bank: ImageDataset, queries: ImageDataset) -> None:
        self.image_size = recipe.dataset.image_size
        self.bank = bank
        self.queries = queries
        # Numbers for names: what classes are called is nothing to training.
        self.classes = Hierarchy(tuple((str(i),) for i in range(len(self.bank.class_names))))
        self.previous: Tensor | None = None

    @same_threads()
    def measure(self, backbone: nn.Module) -> dict[str, float]:
        """Embed the images and measure them.

        Each measure asks for something: ``knn`` for more than one class, ``drift`` for a
        measurement before it and enough images for a forest. What cannot be measured is left out,
        since training needs none of them.
        """
        encoder = Encoder(backbone, self.image_size)
        bank, queries = encoder.embed(self.bank), encoder.embed(self.queries)
        followed = queries[:: -(-len(queries) // _DRIFT_IMAGES)]
        measures: dict[str, Callable[[], float]] = {"rankme": lambda: rankme(queries)}
        if len(queries) > 1:
            measures["embedding_std"] = lambda: evenness(queries)
        if len(self.bank.labels.unique()) > 1:
            measures["knn"] = lambda: self._accuracy(bank, queries)
        if (previous := self.previous) is not None:
            measures["drift"] = lambda: drift(previous.numpy(), followed)
        self.previous = torch.from_numpy(followed)
        measured = {}
        for name, measure in measures.items():
            with suppress(InputError):
                measured[name] = measure()
        return measured

    def _accuracy(self, bank: Floats32, queries: Floats32) -> float:
        """Classify the test images by the training images next to them."""
        return hierarchical_knn(
            bank,
            self.bank.labels.numpy(),
            queries,
            self.queries.labels.numpy(),
            self.classes,
            k=min(_NEIGHBORS, len(bank)),
        ).accuracy[-1]


def evenness(vectors: Floats32) -> float:
    """Root of the unit vectors' total variance.

    Near 1 for directions spread evenly over the sphere, 0 for a collapsed embedding.
    """
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1)
    return float(np.sqrt(unit.var(axis=0).sum()))


def drift(before: Floats32, after: Floats32) -> float:
    """Return how much the images' structure has changed: 1 - forest similarity, 0 for none.

    Not a single tree's similarity: that jumps by more than most measurements differ.
    """
    return 1 - corrected_similarity(before, after)

"""What the walk pairs, seen while it runs. Labels are looked at here and nowhere else."""

from contextlib import suppress
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.data import ImageDataset
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import hierarchy_names, load_hierarchy
from sag_vicreg.methods import Moment
from sag_vicreg.pairing import WalkedViews, own_view_rank
from sag_vicreg.training.batches import Plan

Labels = NDArray[np.int64]


def class_levels(dataset: ImageDataset) -> list[Labels]:
    """Return the group of each class at every level, coarse to fine.

    A dataset without a class tree has its classes alone; one class is nothing to agree on.
    """
    if len(dataset.labels.unique()) < 2:
        return []
    if dataset.name in hierarchy_names():
        # A source may call its classes by other names than the tree: no reason not to train.
        with suppress(InputError):
            tree = load_hierarchy(dataset.name)
            return [tree.encode(dataset.class_names, level) for level in tree.levels]
    return [np.arange(len(dataset.class_names))]


def same_class(start: Labels, end: Labels, levels: list[Labels]) -> dict[str, float]:
    """Return the share of pairs within one group, by level, of classes where walks start and end.

    Pairs of different images are meant; where there are none, nothing can be said.
    """
    if len(start) == 0:
        return {}
    return {
        f"same_class_level{number}": float((groups[start] == groups[end]).mean())
        for number, groups in enumerate(levels, start=1)
    }


class PairMonitor:
    """Measures the pairs of a batch: how well own views are held, where walks end.

    Attributes
    ----------
    columns
        Every measure there can be.
    """

    def __init__(self, plan: Plan, dataset: ImageDataset, *, k: int) -> None:
        self.plan = plan
        self.labels = dataset.labels.numpy()
        self.levels = class_levels(dataset)
        self.k = k
        by_level = (f"same_class_level{number}" for number, _ in enumerate(self.levels, start=1))
        self.columns = ("own_view_nearest", "own_view_near", "pair_weight", *by_level)

    def measure(self, walked: WalkedViews, moment: Moment) -> dict[str, float]:
        """Measure one batch.

        ``own_view_nearest`` and ``own_view_near`` are the shares of rows whose own view is the
        nearest of the batch, and among the k nearest, in the embedding the loss compares, whatever
        the walk searches. The share that walks is a part of the loss, ``nontrivial``.
        """
        rank = own_view_rank(walked.views.z, walked.views.z_prime)
        partners = walked.indices.cpu().numpy()
        left = np.flatnonzero(partners != np.arange(len(partners)))
        classes = self._classes(moment, reached=int(partners.max()))
        return {
            "own_view_nearest": float((rank == 0).double().mean()),
            "own_view_near": float((rank < self.k).double().mean()),
            "pair_weight": float(walked.weights.double().mean()),
            **same_class(classes[left], classes[partners[left]], self.levels),
        }

    def _classes(self, moment: Moment, *, reached: int) -> Labels:
        """Return the classes of the batch, then of earlier ones, as a memory holds them."""
        found: list[Labels] = []
        for batch in chain([moment], self.plan.before(moment)):
            if sum(map(len, found)) > reached:
                break
            found.append(self.labels[self.plan.indices(batch)])
        return np.concatenate(found)

"""What the walk pairs, seen while it runs. Labels are looked at here and nowhere else."""

from contextlib import suppress

import numpy as np

from sag_vicreg.arrays import Ints
from sag_vicreg.data import ImageDataset
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import hierarchy_names, load_hierarchy
from sag_vicreg.methods import Moment
from sag_vicreg.pairing import WalkedViews, own_view_rank
from sag_vicreg.training.batches import Plan


def class_levels(dataset: ImageDataset) -> list[Ints]:
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
        levels = enumerate(class_levels(dataset), start=1)
        self.groups = {f"same_class_level{number}": groups for number, groups in levels}
        self.k = k
        self.columns = ("own_view_nearest", "own_view_near", "pair_weight", *self.groups)

    def measure(self, walked: WalkedViews, moment: Moment) -> dict[str, float]:
        """Measure one batch.

        ``own_view_nearest`` and ``own_view_near`` are the shares of rows whose own view is the
        nearest of the batch, and among the k nearest, in the embedding the loss compares, whatever
        the walk searches. The share that walks is a part of the loss, ``nontrivial``. Those that
        walk tell, level by level, how many end within their own group; where nobody does, nothing
        can be said.
        """
        rank = own_view_rank(walked.views.z, walked.views.z_prime)
        partners = walked.indices.cpu().numpy()
        left = np.flatnonzero(partners != np.arange(len(partners)))
        classes = self.labels[self.plan.indices(moment)]
        start, end = classes[left], classes[partners[left]]
        compared = self.groups if len(left) else {}
        return {
            "own_view_nearest": float((rank == 0).double().mean()),
            "own_view_near": float((rank < self.k).double().mean()),
            "pair_weight": float(walked.weights.double().mean()),
            **{
                name: float((groups[start] == groups[end]).mean())
                for name, groups in compared.items()
            },
        }

"""Everything this room measures, of one set of embeddings."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sag_vicreg.artifacts import Embeddings, align
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.class_tree import ClassTreeScores, class_tree_similarity
from sag_vicreg.evaluation.knn import KNNScores, Vote, hierarchical_knn
from sag_vicreg.evaluation.levels import labels_by_level
from sag_vicreg.evaluation.probe import ProbeScores, hierarchical_probe
from sag_vicreg.evaluation.rand import RandScores, check_clustering, rand_index
from sag_vicreg.evaluation.unlabelled import LabelFree, label_free
from sag_vicreg.hierarchy import Hierarchy


@dataclass(frozen=True)
class Evaluation:
    """Scores of one set of embeddings; those that need a training set are None without one."""

    n_classes: tuple[int, ...]
    """Classes that occur in the test set at each level, coarsest first."""
    n_test: int
    n_train: int | None
    majority: tuple[float, ...]
    """Accuracy of always naming the test set's largest group: what any classifier must beat."""
    knn: KNNScores | None
    probe: ProbeScores | None
    rand: RandScores
    class_tree: ClassTreeScores | None
    label_free: LabelFree

    def to_dict(self) -> dict[str, Any]:
        """Return all scores as plain values; by level they are called ``level1``, ``level2`` ..."""
        content: dict[str, Any] = {
            "n_test": self.n_test,
            "n_train": self.n_train,
            "n_classes": _by_level(self.n_classes),
            "majority": _by_level(self.majority),
        }
        if self.knn is not None:
            content["knn"] = _by_level(self.knn.accuracy) | self.knn.to_dict()
        if self.probe is not None:
            content["probe"] = _by_level(self.probe.accuracy) | self.probe.to_dict()
        content |= self.rand.to_dict()
        if self.class_tree is not None:
            content["class_tree"] = self.class_tree.to_dict()
        content["label_free"] = self.label_free.to_dict()
        return content


def _by_level(values: Sequence[Any]) -> dict[str, Any]:
    return {f"level{level}": value for level, value in enumerate(values, start=1)}


def evaluate(
    test: Embeddings,
    hierarchy: Hierarchy,
    *,
    train: Embeddings | None = None,
    view: Embeddings | None = None,
    k: int = 20,
    vote: Vote = "plain",
    temperature: float = 0.07,
    seeds: Sequence[int] = (0,),
    n_neighbors: int = 10,
    cluster_counts: Sequence[int] | None = None,
) -> Evaluation:
    """Score embeddings against a class hierarchy, level by level, and without labels.

    Parameters
    ----------
    test
        Embeddings with labels.
    hierarchy
        The class tree.
    train
        Embeddings of the training set, with labels, by the same model: for k-NN and the probe.
    view
        Embeddings of another view of the test images: for alignment. Matched by id.
    k, vote, temperature
        As in :func:`hierarchical_knn`.
    seeds
        Of the probe, one training each; the first is also that of the clustering.
    n_neighbors, cluster_counts
        As in :func:`rand_index`.

    Returns
    -------
    Evaluation

    Warns
    -----
    UserWarning
        If training and test set share ids: the scores are then no test.
    """
    if test.labels is None:
        raise InputError("the test embeddings have no labels: evaluation needs one per point")
    if train is not None and train.labels is None:
        raise InputError("the training embeddings have no labels: k-NN and probe learn from them")
    if not seeds:
        raise InputError("seeds is empty: give at least one")
    # What is wrong with the last measure is said before the first is taken.
    check_clustering(len(test), n_neighbors, cluster_counts)
    other = None if view is None else align(test, view, names=("test", "view"))[1].vectors
    levels = labels_by_level(test.labels, hierarchy, len(test), "test")
    sizes = [np.unique(level, return_counts=True)[1] for level in levels]
    knn, probe = None, None
    if train is not None and train.labels is not None:
        _warn_of_overlap(train, test)
        sets = (train.vectors, train.labels, test.vectors, test.labels, hierarchy)
        knn = hierarchical_knn(*sets, k=k, vote=vote, temperature=temperature)
        probe = hierarchical_probe(*sets, seeds=seeds)
    return Evaluation(
        n_classes=tuple(len(size) for size in sizes),
        n_test=len(test),
        n_train=None if train is None else len(train),
        majority=tuple(float(size.max() / len(test)) for size in sizes),
        knn=knn,
        probe=probe,
        rand=rand_index(
            test.vectors,
            test.labels,
            hierarchy,
            cluster_counts=cluster_counts,
            n_neighbors=n_neighbors,
            seed=seeds[0],
        ),
        class_tree=(
            class_tree_similarity(test.vectors, test.labels, hierarchy)
            if len(sizes[-1]) > 2
            else None
        ),
        label_free=label_free(test.vectors, other),
    )


def _warn_of_overlap(train: Embeddings, test: Embeddings) -> None:
    if train.ids is None or test.ids is None:
        return
    shared = np.intersect1d(train.ids, test.ids)
    if shared.size:
        warnings.warn(
            f"TRAIN AND TEST OVERLAP: {shared.size} of {len(test)} test ids, such as "
            f"'{shared[0]}', are in the training set too; k-NN and probe find the answer there",
            stacklevel=3,
        )

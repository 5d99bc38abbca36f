"""Everything this subpackage measures, of one set of embeddings."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sag_vicreg.artifacts import Embeddings, ScoreFile, join
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.checks import labels_by_level
from sag_vicreg.evaluation.class_tree import ClassTreeScores, class_tree_similarity
from sag_vicreg.evaluation.knn import TEMPERATURE, VOTERS, KNNScores, Vote, hierarchical_knn
from sag_vicreg.evaluation.probe import ProbeScores, hierarchical_probe
from sag_vicreg.evaluation.rand import NEIGHBORS, RandScores, check_clustering, rand_index
from sag_vicreg.evaluation.unlabelled import LabelFree, label_free
from sag_vicreg.hierarchy import Hierarchy
from sag_vicreg.scores import OwnMeasure, by_level


@dataclass(frozen=True)
class EvaluationScores:
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
    own: Mapping[str, float] = field(default_factory=dict)
    """Measures of other packages that were asked for, by name."""

    def scores(self) -> dict[str, float]:
        """Return every score by its key in :mod:`sag_vicreg.scores`."""
        found = by_level("majority", self.majority)
        for part in self._by_labels().values():
            found |= part.scores()
        return found | self.label_free.scores() | dict(self.own)

    def deviations(self) -> dict[str, float]:
        """Return the deviation of scores that are means over repetitions."""
        return {} if self.probe is None else self.probe.deviations()

    def result(self, name: str, *, images: Mapping[str, Any], hierarchy: str) -> ScoreFile:
        """Return what a file of results holds: scores, and apart from them how they were taken."""
        return ScoreFile(
            kind="evaluation",
            method=name,
            images=images,
            options={
                "hierarchy": hierarchy,
                "n_train": self.n_train,
                "n_classes": list(self.n_classes),
                **{each: part.settings() for each, part in self._by_labels().items()},
            },
            n_images=self.n_test,
            scores=self.scores(),
            deviations=self.deviations(),
        )

    def _by_labels(self) -> dict[str, KNNScores | ProbeScores | RandScores | ClassTreeScores]:
        return {
            name: part
            for name in ("knn", "probe", "rand", "class_tree")
            if (part := getattr(self, name)) is not None
        }


def evaluate(
    test: Embeddings,
    hierarchy: Hierarchy,
    *,
    train: Embeddings | None = None,
    view: Embeddings | None = None,
    k: int = VOTERS,
    vote: Vote = "plain",
    temperature: float = TEMPERATURE,
    seeds: Sequence[int] = (0,),
    n_neighbors: int = NEIGHBORS,
    cluster_counts: Sequence[int] | None = None,
    measures: Sequence[OwnMeasure] = (),
) -> EvaluationScores:
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
    measures
        Of other packages, as :func:`~sag_vicreg.scores.own_measures` finds them, or your own.

    Returns
    -------
    EvaluationScores

    Warns
    -----
    UserWarning
        If training and test set share ids: the scores then test nothing.
    """
    if test.labels is None:
        raise InputError("the test embeddings have no labels: evaluation needs one per point")
    if train is not None and train.labels is None:
        raise InputError("the training embeddings have no labels: k-NN and probe learn from them")
    if not seeds:
        raise InputError("seeds is empty: give at least one")
    # What is wrong with the last measure is said before the first is taken.
    check_clustering(len(test), n_neighbors, cluster_counts)
    other = None if view is None else join([test, view], ("test", "view")).sets[1].vectors
    levels = labels_by_level(test.labels, hierarchy, len(test), "test")
    sizes = [np.unique(level, return_counts=True)[1] for level in levels]
    knn, probe = None, None
    if train is not None and train.labels is not None:
        _warn_of_overlap(train, test)
        sets = (train.vectors, train.labels, test.vectors, test.labels, hierarchy)
        knn = hierarchical_knn(*sets, k=k, vote=vote, temperature=temperature)
        probe = hierarchical_probe(*sets, seeds=seeds)
    return EvaluationScores(
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
        own={each.key: each.score_set(test.vectors, levels[-1]) for each in measures},
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

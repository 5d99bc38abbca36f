"""Hierarchical k-NN classification (the paper's table 4): one search, one vote per level."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.errors import InputError, check_name
from sag_vicreg.evaluation.checks import labelled_sets
from sag_vicreg.evaluation.neighbors import nearest
from sag_vicreg.hierarchy import Hierarchy
from sag_vicreg.scores import by_level
from sag_vicreg.structure.parallel import blocks

Vote = Literal["plain", "weighted"]
VOTERS = 20
"""Neighbours that vote, where nobody says."""
TEMPERATURE = 0.07
"""Of the weighted vote, where nobody says."""
# Distances closer than this are equal for float32: which neighbour is the k-th is then a toss-up.
NEAR_TIE = 1e-6
# Votes are counted in blocks of about this many cells (rows x classes).
_CELLS = 1 << 24


@dataclass(frozen=True)
class KNNScores:
    """Accuracy of a k-NN vote at each level, coarsest first, and how it was taken."""

    accuracy: tuple[float, ...]
    k: int
    vote: Vote
    temperature: float | None
    """Of the weights ``exp(cosine / temperature)``; None for the plain vote."""
    near_ties: int
    """Queries whose k-th and next distances differ by less than 1e-6."""
    predictions: NDArray[np.int64] = field(repr=False, compare=False)
    """Predicted group of each query at each level, (n_levels, n_test)."""

    def scores(self) -> dict[str, float]:
        """Return the accuracy by level."""
        return by_level("knn", self.accuracy)

    def settings(self) -> dict[str, Any]:
        """Return how the vote was taken."""
        return {
            "metric": "cosine",
            "k": self.k,
            "vote": self.vote,
            "temperature": self.temperature,
            "near_ties": self.near_ties,
        }


def hierarchical_knn(
    train: ArrayLike,
    train_labels: ArrayLike,
    test: ArrayLike,
    test_labels: ArrayLike,
    hierarchy: Hierarchy,
    *,
    k: int = VOTERS,
    vote: Vote = "plain",
    temperature: float = TEMPERATURE,
) -> KNNScores:
    """Classify each test point by its nearest training points, at every level of the hierarchy.

    Levels are separate label sets over the same neighbours, so one search serves them all; each
    level takes its own vote.

    Parameters
    ----------
    train, test
        Embeddings (n, d) and (m, d), compared by cosine.
    train_labels, test_labels
        Class names or indices, one per point.
    hierarchy
        The class tree.
    k
        How many neighbours vote.
    vote
        ``"plain"``: each neighbour counts one, a tie goes to the smallest label as in
        scikit-learn. ``"weighted"``: each counts ``exp(cosine / temperature)``.
    temperature
        Of the weighted vote.

    Returns
    -------
    KNNScores

    Examples
    --------
    >>> from sag_vicreg.hierarchy import load_hierarchy
    >>> shapes = load_hierarchy("shapes")
    >>> labels = np.arange(40) % len(shapes.classes)
    >>> vectors = np.eye(len(shapes.classes))[labels]
    >>> hierarchical_knn(vectors, labels, vectors, labels, shapes, k=1).accuracy[-1]
    1.0
    """
    check_name("vote", vote, get_args(Vote))
    if not 0 < temperature < math.inf:
        raise InputError(f"temperature is {temperature}: it must be above 0 and finite")
    keys, key_labels, queries, query_labels = labelled_sets(
        train, train_labels, test, test_labels, hierarchy
    )
    if not 1 <= k <= len(keys):
        raise InputError(f"k is {k} but train has {len(keys)} points: choose k from 1 to that")

    found = nearest(queries, keys, min(k + 1, len(keys)))
    voters, cosines = found.indices[:, :k], found.similarity[:, :k]
    weights = None
    if vote == "weighted":
        # Relative to the nearest: the vote is the same and exp cannot overflow.
        weights = np.exp((cosines.astype(np.float64) - cosines[:, :1]) / temperature)
    predictions = np.stack([_vote(labels, voters, weights) for labels in key_labels])
    return KNNScores(
        accuracy=tuple((predictions == query_labels).mean(axis=1).tolist()),
        k=k,
        vote=vote,
        temperature=temperature if vote == "weighted" else None,
        near_ties=int((np.diff(found.similarity[:, k - 1 :]) > -NEAR_TIE).sum()),
        predictions=predictions,
    )


def _vote(
    labels: NDArray[np.int64], voters: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Return the label with most votes in each row, the smallest where votes are equal."""
    n_groups = int(labels.max()) + 1
    winners = np.empty(len(voters), dtype=np.int64)
    for rows in blocks(len(voters), max(1, _CELLS // n_groups)):
        block = voters[rows]
        cells = labels[block] + n_groups * np.arange(len(block))[:, None]
        votes = np.bincount(
            cells.ravel(),
            weights=None if weights is None else weights[rows].ravel(),
            minlength=n_groups * len(block),
        )
        winners[rows] = votes.reshape(len(block), n_groups).argmax(axis=1)
    return winners

"""Hierarchical linear probe (the paper's table 5): every level's classifier in one training pass.

The features are frozen and shared, so the classifiers of all levels, each at several learning
rates, are rows of one weight matrix: one product gives all logits, one gives all gradients.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.arrays import Array, Floats32, Ints
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation.checks import labelled_sets
from sag_vicreg.evaluation.softmax import SoftmaxStack
from sag_vicreg.hierarchy import Hierarchy
from sag_vicreg.progress import track
from sag_vicreg.scores import Score, averages, by_level

LEARNING_RATES = (0.01, 0.05, 0.25)
HELD_OUT = 0.1
# Rounds without a better loss until a classifier retires.
_PATIENCE = 2
# Held-out loss must fall by this share to count as better.
_IMPROVEMENT = 1e-3
# Variance that counts as weak, for each weight of the finest classifier per training point.
_WEAK = 0.5


@dataclass(frozen=True)
class ProbeScores:
    """Accuracy of a linear classifier at each level, coarsest first, over seeds."""

    seeds: tuple[int, ...]
    by_seed: tuple[tuple[float, ...], ...]
    """Accuracies of each seed."""
    learning_rates: tuple[tuple[float, ...], ...]
    """Chosen on the held-out part, by each seed at each level."""
    rounds: tuple[tuple[int, ...], ...]
    """Rounds of half a pass until the least held-out loss, of each seed at each level."""
    predictions: Ints = field(repr=False, compare=False)
    """Of the first seed: predicted group at each level, (n_levels, n_test)."""

    @property
    def accuracy(self) -> tuple[float, ...]:
        """Mean over seeds."""
        return tuple(score.mean for score in self._over_seeds())

    @property
    def deviation(self) -> tuple[float, ...] | None:
        """Standard deviation over seeds (n - 1); None for one seed."""
        return tuple(s.deviation for s in self._over_seeds() if s.deviation is not None) or None

    def _over_seeds(self) -> list[Score]:
        return list(averages([by_level("probe", seed) for seed in self.by_seed]).values())

    def scores(self) -> dict[str, float]:
        """Return the accuracy by level, a mean over seeds."""
        return by_level("probe", self.accuracy)

    def deviations(self) -> dict[str, float]:
        """Return the deviation over seeds, by level; nothing for one seed."""
        return by_level("probe", self.deviation or ())

    def settings(self) -> dict[str, Any]:
        """Return how it was trained, seed by seed."""
        return {
            "seeds": list(self.seeds),
            "by_seed": [list(row) for row in self.by_seed],
            "learning_rates": [list(row) for row in self.learning_rates],
            "rounds": [list(row) for row in self.rounds],
        }


def hierarchical_probe(
    train: ArrayLike,
    train_labels: ArrayLike,
    test: ArrayLike,
    test_labels: ArrayLike,
    hierarchy: Hierarchy,
    *,
    seeds: Sequence[int] = (0,),
    max_rounds: int = 100,
) -> ProbeScores:
    """Train a multinomial linear classifier per level on frozen features and test it.

    The objective is that of scikit-learn's ``LogisticRegression`` with its default penalty, on
    standardised features. Each seed holds out a tenth of the training set, races the learning
    rates there, level by level, and stops at the least held-out loss; two passes over all of the
    training set then give the held-out part its say.

    Parameters
    ----------
    train, test
        Embeddings (n, d) and (m, d).
    train_labels, test_labels
        Class names or indices, one per point.
    hierarchy
        The class tree.
    seeds
        One training each: the held-out part and the order of the batches follow the seed.
    max_rounds
        Training stops here if the held-out loss still falls. A round is half a pass over the
        training set, or 50 steps where that is more.

    Returns
    -------
    ProbeScores

    Examples
    --------
    >>> from sag_vicreg.hierarchy import Hierarchy
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(200) % 2
    >>> vectors = rng.standard_normal((200, 4)) + 5 * labels[:, None]
    >>> tree = Hierarchy((("cat",), ("dog",)))
    >>> hierarchical_probe(vectors, labels, vectors, labels, tree).accuracy
    (1.0,)
    """
    if len(seeds) == 0:
        raise InputError("seeds is empty: give at least one")
    if max_rounds < 1:
        raise InputError(f"max_rounds is {max_rounds}: at least one is needed")
    features, labels, queries, query_labels = labelled_sets(
        train, train_labels, test, test_labels, hierarchy
    )
    if HELD_OUT * len(features) < 1:
        raise InputError(f"train has {len(features)} points: a probe needs at least 10")

    scaled = _precondition(features, queries, n_classes=int(labels[-1].max()) + 1)
    runs = [
        _probe(*scaled, labels, np.random.default_rng(seed), max_rounds)
        for seed in track(list(seeds), "linear probe")
    ]
    return ProbeScores(
        seeds=tuple(int(seed) for seed in seeds),
        by_seed=tuple(tuple((run[0] == query_labels).mean(axis=1).tolist()) for run in runs),
        learning_rates=tuple(tuple(run[1].tolist()) for run in runs),
        rounds=tuple(tuple(run[2].tolist()) for run in runs),
        predictions=runs[0][0],
    )


def _precondition(train: Array, test: Array, n_classes: int) -> tuple[Floats32, Floats32, Floats32]:
    """Standardise, turn to principal directions and divide each by ``sqrt(variance + weak)``.

    Returns the features of both sets, and the penalty's weight on each of them.

    Gradient descent learns a direction at the pace of its variance, and a few directions of an
    embedding have most of it: now all strong directions learn at one pace. Weak ones still come
    later, and early stopping keeps their noise out; full whitening would let it in at once. What is
    weak depends on how many weights a training point has to settle. The penalty is scaled along,
    so that the objective stays that of the standardised features.
    """
    n, d = train.shape
    # By a power of two first, which is exact: squares of very large or small entries leave
    # float32's range. Standardising takes it out again.
    _, exponents = np.frexp(np.abs(train).max(axis=0))
    train, test = np.ldexp(train, -exponents), np.ldexp(test, -exponents)
    mean = train.mean(axis=0, dtype=np.float64)
    centred = np.subtract(train, mean, dtype=train.dtype).astype(np.float32, copy=False)
    covariance = (centred.T @ centred).astype(np.float64) / n
    deviation = np.sqrt(np.diag(covariance))
    # A feature that never varies says nothing; dividing by its rounding would make it shout.
    varies = deviation > 1e-6 * np.abs(mean)
    scale = np.where(varies, 1 / np.where(varies, deviation, 1), 0)
    variances, directions = np.linalg.eigh(covariance * np.outer(scale, scale))
    strength = np.maximum(variances, 0) + _WEAK * d * n_classes / n
    rotation = (scale[:, None] * directions / np.sqrt(strength)).astype(np.float32)

    def turned(centred: Floats32) -> Floats32:
        result = np.empty((len(centred), d + 1), dtype=np.float32)
        result[:, d] = 1  # the bias
        np.matmul(centred, rotation, out=result[:, :d])
        return result

    return (
        turned(centred),
        turned(np.subtract(test, mean).astype(np.float32)),
        np.append(1 / (n * strength), 0).astype(np.float32),
    )


def _probe(
    train: Floats32,
    test: Floats32,
    ridge: Floats32,
    labels: Ints,
    rng: np.random.Generator,
    max_rounds: int,
) -> tuple[Ints, NDArray[np.float64], Ints]:
    """Return predictions on the test set, chosen rates and chosen rounds, each by level."""
    n_levels, n = labels.shape
    n_classes = labels.max(axis=1) + 1
    held, fit = np.split(rng.permutation(n), [int(HELD_OUT * n)])
    stack = SoftmaxStack(
        targets=np.tile(np.arange(n_levels), len(LEARNING_RATES)),
        n_classes=n_classes,
        rates=np.repeat(LEARNING_RATES, n_levels),
        ridge=ridge,
    )
    rates, rounds, weights = _race(
        stack, (train[fit], labels[:, fit]), (train[held], labels[:, held]), rng, max_rounds
    )
    final = SoftmaxStack(np.arange(n_levels), n_classes, rates, ridge, weights)
    final.train(train, labels, rng, passes=2)
    return np.stack(final.predict(test)), rates, rounds


def _race(
    stack: SoftmaxStack,
    fit: tuple[Floats32, Ints],
    held: tuple[Floats32, Ints],
    rng: np.random.Generator,
    max_rounds: int,
) -> tuple[NDArray[np.float64], Ints, list[Floats32]]:
    """Return rate, rounds and weights of least held-out loss for each level.

    All levels at all rates run together. A classifier retires when for two rounds it has not
    improved on the best loss its level has seen at any rate.
    """
    n_levels = len(fit[1])
    least = np.full(n_levels, np.inf)
    rates, rounds = np.zeros(n_levels), np.zeros(n_levels, dtype=np.int64)
    weights: list[Floats32] = [np.empty(0, dtype=np.float32)] * n_levels
    stale = np.zeros(len(stack.targets), dtype=np.int64)
    for done in range(1, max_rounds + 1):
        stack.train(*fit, rng, passes=0.5)
        stale += 1
        averages = stack.averages()
        for g, loss in enumerate(stack.losses(*held)):
            level = stack.targets[g]
            if loss < least[level] * (1 - _IMPROVEMENT):
                least[level], rates[level], rounds[level] = loss, stack.rates[g], done
                weights[level] = averages[g]
                stale[g] = 0
        running = stale < _PATIENCE
        if not running.any():
            break
        stack.keep(running)
        stale = stale[running]
    return rates, rounds, weights

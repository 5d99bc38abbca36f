"""Softmax classifiers side by side: many small problems as rows of one weight matrix.

Trained by stochastic gradient descent at a constant rate, and judged by the average of the
weights over the latest rounds: the average settles where single steps keep wandering, so that no
schedule is needed (Polyak and Juditsky, 1992; Bach and Moulines, 2013).
"""

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.arrays import Floats32, Ints

BATCH = 512
# However few the data, training goes on for at least so many steps.
MIN_STEPS = 50


class SoftmaxStack:
    """Classifiers that share their features; each has its own labels, classes and rate.

    Parameters
    ----------
    targets
        Row of the label matrix each classifier learns, (g,).
    n_classes
        Number of classes in each row of the label matrix.
    rates
        Learning rate of each classifier, (g,). A step is this times the number of its classes,
        because the curvature of a softmax over c classes goes as 1/c.
    ridge
        Weight of the squared penalty on each feature's weights, (d,). One feature should be
        constant, with ridge 0: there is no other bias.
    weights
        Where each classifier starts, as :meth:`averages` returns them; 0 by default.
    """

    def __init__(
        self,
        targets: Ints,
        n_classes: Ints,
        rates: NDArray[np.float64],
        ridge: Floats32,
        weights: list[Floats32] | None = None,
    ) -> None:
        self.targets = targets
        self.rates = rates
        self._ridge = ridge
        self._sizes = n_classes[targets]
        start = weights or [np.zeros((self._sizes.sum(), len(ridge)), dtype=np.float32)]
        self._weights = np.concatenate(start)
        self._average: Floats32 | None = None

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Drop all classifiers but these."""
        rows = np.repeat(which, self._sizes)
        self._weights, self._average = self._weights[rows], self.average[rows]
        self.targets, self._sizes = self.targets[which], self._sizes[which]
        self.rates = self.rates[which]

    @property
    def average(self) -> Floats32:
        """Averaged weights, the rows of one classifier after those of the other."""
        return self._weights if self._average is None else self._average

    def averages(self) -> list[Floats32]:
        """Return the averaged weights of each classifier, (its classes, d)."""
        return self._split(self.average)

    def train(
        self, features: Floats32, labels: Ints, rng: np.random.Generator, *, passes: float
    ) -> None:
        """Descend over ``features`` (n, d) and ``labels`` (rows, n) and average the way.

        The average of an earlier call is not forgotten but halved in weight.
        """
        n = len(features)
        batch = min(BATCH, -(-n // 8))
        steps = max(MIN_STEPS, int(passes * n / batch))
        step_sizes = np.repeat(self.rates * self._sizes, self._sizes).astype(np.float32)[:, None]
        order, columns = rng.permutation(n), np.arange(batch)
        total = np.zeros_like(self._weights)
        for step in range(steps):
            rows = order.take(step * batch + columns, mode="wrap")
            x = features[rows]
            residual = self._weights @ x.T
            for part, target in zip(self._split(residual), self.targets, strict=True):
                _softmax(part)
                part[labels[target, rows], columns] -= 1
            gradient = residual @ x
            gradient /= batch
            gradient += self._ridge * self._weights
            gradient *= step_sizes
            self._weights -= gradient
            total += self._weights
        total /= steps
        if self._average is not None:
            total += self._average
            total /= 2
        self._average = total

    def losses(self, features: Floats32, labels: Ints) -> NDArray[np.float64]:
        """Mean cross-entropy of each classifier, (g,)."""
        columns = np.arange(len(features))
        losses = []
        logits = self.average @ features.T
        for part, target in zip(self._split(logits), self.targets, strict=True):
            _softmax(part)
            truth = np.maximum(part[labels[target], columns], np.finfo(np.float32).tiny)
            losses.append(-np.log(truth).mean(dtype=np.float64))
        return np.array(losses)

    def predict(self, features: Floats32) -> list[Ints]:
        """Most likely class of each point, by each classifier."""
        return [part.argmax(axis=0) for part in self._split(self.average @ features.T)]

    def _split(self, rows: Floats32) -> list[Floats32]:
        """Return views of the rows that belong to each classifier."""
        return np.split(rows, np.cumsum(self._sizes)[:-1])


def _softmax(logits: Floats32) -> None:
    """Over the first axis, in place: classes down, points across, so that sums are contiguous."""
    logits -= logits.max(axis=0)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=0)

"""What the gate would catch in a set of one's own: known changes are planted, of growing size."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sag_vicreg.arrays import Floats
from sag_vicreg.decisions.gate import TOLERANCE, Decision, decide
from sag_vicreg.decisions.settings import Settings, check_range, check_tolerance
from sag_vicreg.progress import track
from sag_vicreg.structure.damage import (
    add_noise,
    project,
    quantise,
    rotate,
    scatter_clusters,
    shuffle_rows,
)
from sag_vicreg.structure.points import as_vectors


@dataclass(frozen=True)
class Planted:
    """A change that was planted, and what the gate decided.

    Attributes
    ----------
    change, size
        What was done, and how much of it.
    decision
        Of the set against its changed self.
    """

    change: str
    size: str
    decision: Decision

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the change, the outcome and the scores."""
        return {"change": self.change, "size": self.size, **self.decision.scores()}


@dataclass(frozen=True)
class SelfTest:
    """What :func:`selftest` found, change by change from the smallest to the largest."""

    planted: tuple[Planted, ...]
    tolerance: float
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "tolerance": self.tolerance,
            "settings": asdict(self.settings),
            "planted": [each.to_dict() for each in self.planted],
        }


def selftest(
    x: Any,
    *,
    tolerance: float = TOLERANCE,
    settings: Settings | None = None,
    name: str = "embeddings",
) -> SelfTest:
    """Plant known changes in a set and gate each: which are caught, from which size on.

    Parameters
    ----------
    x
        Shape (n, d), n of 50 or more.
    tolerance, settings
        As in :func:`gate`.
    name
        What to call the set in error messages.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat(np.eye(3), 20, axis=0) + np.random.default_rng(0).normal(0, 0.1, (60, 3))
    >>> found = selftest(x, settings=Settings(trees=8))
    >>> found.planted[0].change, found.planted[0].decision.outcome
    ('rotation', 'pass')
    """
    check_tolerance(tolerance)
    settings = settings or Settings()
    vectors = as_vectors(x, name)
    check_range(vectors, name)
    old = settings.grow(vectors, name)
    planted = []
    for change, size, damage in track(list(_changes(vectors, settings.seed)), "planted changes"):
        new = settings.grow(damage(), f"{name} after {change}")
        decision = decide(
            old, new, tolerance=tolerance, settings=settings, names=(name, f"{change}, {size}")
        )
        planted.append(Planted(change, size, decision))
    return SelfTest(tuple(planted), tolerance, settings)


def _changes(x: Floats, seed: int) -> Iterator[tuple[str, str, Callable[[], Floats]]]:
    from sklearn.cluster import MiniBatchKMeans

    yield "rotation", "any", partial(rotate, x, seed=seed)
    for share in (0.01, 0.1, 0.25, 0.5, 1.0, 2.0):
        yield "noise", f"{share:.0%}", partial(add_noise, x, share, seed=seed)
    for bits in (8, 4, 2, 1):
        yield "quantisation", f"{bits} bits", partial(quantise, x, bits)
    dims = x.shape[1]
    while (dims := dims // 2) >= 4:
        yield "projection", f"to {dims}", partial(project, x, dims, seed=seed)
    for share in (0.005, 0.01, 0.02, 0.05, 0.1, 0.25):
        yield "rows shuffled", f"{share:.1%}", partial(shuffle_rows, x, share, seed=seed)
    for count in (each for each in (100, 50, 20, 10, 5) if len(x) >= 10 * each):
        means = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=2048)
        # The smallest share is one cluster.
        scatter = partial(scatter_clusters, x, means.fit_predict(x), 1e-9, seed=seed)
        yield "one cluster scattered", f"1 of {count}", scatter

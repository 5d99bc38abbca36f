"""A floor: how far sets that should count as "no change" lie apart.

The gate fails a comparison below all of them. How often that is a false alarm follows from
exchangeability alone. Where OLD is one of the m sets of the floor, NEW and the other m - 1 could
each be the one farthest from it: at most one time in m it is NEW. Where OLD and NEW are both new,
two pairs that share no set cannot each be lower than the other, so of all pairs of m + 2 sets at
most m + 1 can be an alarm: at most 2 in m + 2.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Any

from sag_vicreg.artifacts import write_json
from sag_vicreg.decisions.checking import row_digests
from sag_vicreg.decisions.settings import Settings, check_same_rows
from sag_vicreg.door import Kind, read_json
from sag_vicreg.errors import InputError
from sag_vicreg.structure.corrected import corrected_score
from sag_vicreg.structure.forest import FEWEST_ROWS
from sag_vicreg.structure.points import as_vectors

_FLOOR = Kind("a floor", "make one with `sag-vicreg calibrate A B --out floor.json`")


@dataclass(frozen=True)
class Floor:
    """Scores of every two of m sets that should count as "no change".

    Attributes
    ----------
    settings
        How their forests were grown: the gate grows its own alike.
    items
        How many items were compared.
    names, fingerprints
        Of the sets; a fingerprint tells whether a set is one of them, in any order of rows.
    scores
        Of the pairs (0, 1), (0, 2), ..., (m - 2, m - 1).
    """

    settings: Settings
    items: int
    names: tuple[str, ...]
    fingerprints: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        sets = len(self.names)
        if (
            sets < 2
            or len(self.fingerprints) != sets
            or len(self.scores) != sets * (sets - 1) // 2
            or not all(map(isfinite, self.scores))
        ):
            raise InputError("its scores are not those of every two of its sets")
        # A corrected score is a correlation divided by another, and near 1 where trees repeat
        # themselves.
        if self.items < FEWEST_ROWS or max(map(abs, self.scores)) > 2:
            raise InputError(f"its scores lie beyond 2, or its items are fewer than {FEWEST_ROWS}")

    def limit(self, old: Any = None, new: Any = None) -> "Limit":
        """Return the score below which a comparison with the set ``old`` is no longer usual.

        A set ``new`` that is one of the floor's is left out of it: no score is lower than itself.
        """
        own, other = (None if each is None else fingerprint(each) for each in (old, new))
        kept = [k for k, mark in enumerate(self.fingerprints) if mark != other or mark == own]
        pairs = zip(combinations(range(len(self.names)), 2), self.scores, strict=True)
        scores = [(pair, score) for pair, score in pairs if set(pair) <= set(kept)]
        chance = 2 / (len(kept) + 2)
        if own in self.fingerprints:
            place = self.fingerprints.index(own)
            scores = [(pair, score) for pair, score in scores if place in pair]
            chance = 1 / len(kept)
        if not scores:
            raise InputError(
                "NEW is one of the sets the floor was made of, and the others make none: calibrate "
                "without it"
            )
        return Limit(min(score for _, score in scores), len(scores), chance)

    def write(self, path: Path | str) -> None:
        """Write the floor as JSON, whole or not at all."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path | str) -> "Floor":
        """Read what :meth:`write` wrote; anything else is refused."""
        return read_json(path, _FLOOR, Floor)


@dataclass(frozen=True)
class Limit:
    """The lowest of some comparisons, and how often one more like them falls below it.

    Attributes
    ----------
    score
        The lowest.
    comparisons
        How many there were.
    false_alarms
        Largest share of unchanged sets that fall below.
    """

    score: float
    comparisons: int
    false_alarms: float

    def sentence(self) -> str:
        """Say what may be claimed."""
        claim = f"at most {self.false_alarms:.1%} of unchanged sets would fall below it"
        few = "" if self.false_alarms <= 0.05 else "; more sets are needed to claim 5 %"
        compared = "1 comparison" if self.comparisons == 1 else f"{self.comparisons} comparisons"
        return f"lowest of {compared}: {claim}{few}"


def calibrate(
    sets: Sequence[Any], *, settings: Settings | None = None, names: Sequence[str] | None = None
) -> Floor:
    """Compare every two of several sets that should count as "no change".

    Parameters
    ----------
    sets
        Two or more, row i of all standing for item i: embeddings by other seeds, of re-runs, in
        half precision.
    settings
        How forests are grown.
    names
        What to call the sets.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=(60, 4))
    >>> floor = calibrate([a + 0.1 * rng.normal(size=a.shape) for _ in range(3)])
    >>> len(floor.scores), floor.limit().false_alarms
    (3, 0.4)
    """
    settings = settings or Settings()
    names = tuple(names or (f"set {place}" for place in range(len(sets))))
    if len(sets) < 2 or len(names) != len(sets):
        raise InputError(f"{len(sets)} sets and {len(names)} names: give at least two, each a name")
    arrays = [as_vectors(each, name) for each, name in zip(sets, names, strict=True)]
    check_same_rows([len(each) for each in arrays], list(names))
    forests = [settings.grow(each, name) for each, name in zip(arrays, names, strict=True)]
    scores = tuple(corrected_score(a, b) for a, b in combinations(forests, 2))
    for (a, b), score in zip(combinations(names, 2), scores, strict=True):
        if not isfinite(score):
            raise InputError(f"{a} and {b}: their trees do not repeat themselves")
    return Floor(settings, forests[0].n, names, tuple(map(fingerprint, arrays)), scores)


def fingerprint(vectors: Any) -> str:
    """Return a digest of the vectors of a set, the same in any order of rows and any precision."""
    digests = sorted(digest.tobytes() for digest in row_digests(as_vectors(vectors)))
    return hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()

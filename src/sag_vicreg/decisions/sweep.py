"""The cheapest vectors that keep the structure: fewer dimensions, fewer bits, gated one by one."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sag_vicreg.arrays import Array, Floats
from sag_vicreg.decisions.gate import NEIGHBORS, TOLERANCE, Decision, decide
from sag_vicreg.decisions.settings import Settings, check_range, check_tolerance
from sag_vicreg.errors import InputError, check_name
from sag_vicreg.progress import track
from sag_vicreg.structure.points import as_vectors

Reduction = Literal["full", "pca", "truncation"]

BITS = {"float32": 32, "float16": 16, "int8": 8, "binary": 1}
"""Precisions, and the bits each takes per dimension."""
# Rows whose neighbours are searched among all rows: enough for a recall to two digits.
_QUERIES = 1_000


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to store the set, and what the gate says of it.

    Attributes
    ----------
    reduction
        ``"full"``, ``"pca"`` or ``"truncation"`` to the first dimensions (Matryoshka).
    dims, precision, bytes
        Dimensions, how each number is stored, and bytes per vector.
    decision
        Of the full set against this one.
    recall
        Share of the 10 nearest rows of the full file that are among the 10 nearest here.
    """

    reduction: Reduction
    dims: int
    precision: str
    bytes: int
    decision: Decision
    recall: float

    @property
    def name(self) -> str:
        """What to call it: dimensions, how they were chosen, precision."""
        how = "" if self.reduction == "full" else f" by {self.reduction}"
        return f"{self.dims} dimensions{how}, {self.precision}"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "reduction": self.reduction,
            "dims": self.dims,
            "precision": self.precision,
            "bytes": self.bytes,
            **self.decision.scores(),
            "recall": self.recall,
        }


@dataclass(frozen=True, eq=False)
class Sweep:
    """What :func:`sweep` found, the cheapest first.

    ``chosen`` is the cheapest that the gate passes, None where it passes none; ``stored`` are its
    vectors as they would be kept. ``left_out`` says which ways leave no vectors to compare.
    """

    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    stored: Array | None = field(repr=False)
    left_out: tuple[str, ...]
    tolerance: float
    settings: Settings

    def sentence(self) -> str:
        """Say which is the cheapest that passes."""
        full = max((each.bytes for each in self.candidates), default=0)
        if self.chosen is None:
            return f"None of {len(self.candidates)} settings passes the gate."
        return (
            f"The cheapest that passes: {self.chosen.name}, {self.chosen.bytes:,} bytes per vector "
            f"({self.chosen.bytes / full:.1%} of {full:,}, the most that was tried)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "sentence": self.sentence(),
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "candidates": [each.to_dict() for each in self.candidates],
            "left_out": list(self.left_out),
            "tolerance": self.tolerance,
            "settings": asdict(self.settings),
        }

    def _repr_html_(self) -> str:
        from sag_vicreg.decisions.formats import sweep_html

        return sweep_html(self)


def sweep(
    x: Any,
    *,
    dims: Sequence[int] = (),
    precisions: Sequence[str] = tuple(BITS),
    tolerance: float = TOLERANCE,
    settings: Settings | None = None,
    name: str = "embeddings",
) -> Sweep:
    """Store a set in fewer dimensions and bits, and gate each way against the full set.

    Parameters
    ----------
    x
        Shape (n, d), n of 50 or more.
    dims
        Numbers of dimensions below d; each is reached by PCA and by keeping the first ones.
    precisions
        Of ``"float32"``, ``"float16"``, ``"int8"`` (one scale for all dimensions, so that codes
        compare as vectors do) and ``"binary"`` (above or below the dimension's mean).
    tolerance, settings
        As in :func:`gate`.
    name
        What to call the set in error messages.

    Examples
    --------
    >>> x = np.repeat(np.eye(4), 20, axis=0) + np.random.default_rng(0).normal(0, 0.1, (80, 4))
    >>> found = sweep(x, precisions=["float16", "int8"], settings=Settings(trees=8))
    >>> found.chosen.name, found.chosen.bytes
    ('4 dimensions, int8', 4)
    """
    check_tolerance(tolerance)
    settings = settings or Settings()
    vectors = as_vectors(x, name)
    check_range(vectors, name)
    _check(dims, precisions, vectors.shape[1])
    old = settings.grow(vectors, name)
    queries = old.items[:_QUERIES]
    true = _nearest_rows(vectors, queries)
    ways = [(reduced, precision) for reduced in _reduced(vectors, dims) for precision in precisions]
    found: list[tuple[Candidate, Array]] = []
    left_out = []
    for (reduction, kept), precision in track(ways, "ways to store the set"):
        codes = _store(kept, precision)
        size = math.ceil(kept.shape[1] * BITS[precision] / 8)
        label = f"{kept.shape[1]} dimensions, {precision}"
        try:
            new = settings.grow(codes, label)
        except InputError as error:  # rows that became zero, or all the same: not to be used
            left_out.append(f"{label} by {reduction}: {error}")
            continue
        decision = decide(old, new, tolerance=tolerance, settings=settings, names=(name, label))
        near = _nearest_rows(codes.astype(np.float64), queries)
        recall = float(np.mean([np.isin(a, b).mean() for a, b in zip(true, near, strict=True)]))
        found.append(
            (Candidate(reduction, kept.shape[1], precision, size, decision, recall), codes)
        )
    found.sort(key=lambda each: (each[0].bytes, -each[0].decision.similarity.spearman))
    passed = (each for each in found if each[0].decision.outcome == "pass")
    chosen, stored = next(passed, (None, None))
    return Sweep(
        candidates=tuple(candidate for candidate, _ in found),
        chosen=chosen,
        stored=stored,
        left_out=tuple(left_out),
        tolerance=tolerance,
        settings=settings,
    )


def _check(dims: Sequence[int], precisions: Sequence[str], d: int) -> None:
    for precision in precisions:
        check_name("precision", precision, BITS)
    if not precisions:
        raise InputError(f"no precision given: choose of {', '.join(BITS)}")
    if dims and d == 1:
        raise InputError("the set has 1 dimension, and there are no fewer to try: give none")
    for each in dims:
        if not 1 <= each < d:
            raise InputError(f"{each} dimensions of a set that has {d}: give 1 to {d - 1}")


def _reduced(x: Floats, dims: Sequence[int]) -> list[tuple[Reduction, Floats]]:
    """Return the set in full, then in each number of dimensions by both reductions."""
    found: list[tuple[Reduction, Floats]] = [("full", x)]
    if dims:
        # About the origin, not the mean: inner products, and so cosines, stay as they can.
        directions = np.linalg.eigh(x.T @ x)[1][:, ::-1]
        for each in sorted(set(dims)):
            found += [("pca", x @ directions[:, :each]), ("truncation", x[:, :each])]
    return found


def _store(x: Floats, precision: str) -> Array:
    """Return the numbers as they would be kept."""
    if precision == "int8":
        return np.rint(x * (127 / (np.abs(x).max() or 1.0))).astype(np.int8)
    if precision == "binary":
        return np.where(x > x.mean(axis=0), 1, -1).astype(np.int8)
    return x.astype(precision)


def _nearest_rows(x: Floats, queries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows nearest to each query in all of the file, by cosine, itself left out."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    unit = (x / np.where(norms > 0, norms, 1.0)).astype(np.float32)
    k = min(NEIGHBORS, len(x) - 1)
    found = np.empty((len(queries), k), np.int64)
    for start in range(0, len(queries), 128):
        rows = queries[start : start + 128]
        cosines = unit[rows] @ unit.T
        cosines[np.arange(len(rows)), rows] = -np.inf
        found[start : start + 128] = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    return found

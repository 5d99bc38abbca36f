"""What is in embedding files, before anything is compared: faults, oddities, how rows join."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts import Embeddings
from sag_vicreg.structure.parallel import Workers, blocks

Floats = npt.NDArray[np.float64]

# Cosine from which two rows that are not equal count as near duplicates.
NEAR = 0.9999
# All pairs of more rows would take longer than the comparison itself: a sample is looked at.
_MOST_PAIRED = 10_000
_ROWS = 256
# How far a norm may lie from 1 in a set that was normalised, in float16 too.
_UNIT = 2e-3


@dataclass(frozen=True)
class SetCheck:
    """What one set of embeddings holds.

    Attributes
    ----------
    name, rows, dimensions, dtype, labels
        What it is called; its shape; how its numbers are stored; how many classes, if labelled.
    whole_numbers
        Whether every number is whole, as after quantisation.
    has_ids, empty_ids, repeated_ids
        Whether there are ids; how many rows have an empty one, or one that an earlier row has.
    not_finite, zero
        Rows that hold NaN or infinity, and rows that are zero throughout.
    norms
        Smallest, median and largest length of the finite rows; None where there are none.
    normalised
        Whether all rows have length 1.
    duplicates, near_duplicates
        Rows equal to an earlier one; rows, not equal, at a cosine above 0.9999 to an earlier one.
    sampled
        How many rows were compared with one another to find near duplicates; None for all.
    constant_dimensions
        Dimensions with one value in all rows.
    """

    name: str
    rows: int
    dimensions: int
    dtype: str
    labels: int | None
    whole_numbers: bool
    has_ids: bool
    empty_ids: int
    repeated_ids: int
    not_finite: int
    zero: int
    norms: tuple[float, float, float] | None
    normalised: bool
    duplicates: int
    near_duplicates: int
    sampled: int | None
    constant_dimensions: int

    @property
    def faults(self) -> tuple[str, ...]:
        """What a comparison would refuse, each with its remedy."""
        found = []
        if self.not_finite:
            found.append(f"{_rows(self.not_finite)} NaN or infinity: remove or repair them")
        if self.empty_ids:
            found.append(f"{_rows(self.empty_ids)} an empty id: give every row an id, or none")
        if self.repeated_ids:
            found.append(f"{_rows(self.repeated_ids)} the id of another row: ids must be unique")
        if self.zero:
            found.append(f"{_rows(self.zero)} no direction, being zero throughout: remove them")
        return tuple(found)

    @property
    def oddities(self) -> tuple[str, ...]:
        """What a comparison takes, and its reader should know."""
        found = []
        if self.duplicates:
            found.append(f"{_some(self.duplicates, 'row repeat')} an earlier row exactly")
        if self.near_duplicates:
            among = "" if self.sampled is None else f", of {self.sampled:,} sampled"
            repeat = _some(self.near_duplicates, "row nearly repeat")
            found.append(f"{repeat} an earlier row{among}")
        if self.constant_dimensions:
            found.append(_some(self.constant_dimensions, "dimension never change"))
        if self.whole_numbers:
            found.append("every number is whole: quantised, or not embeddings")
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """The oddities, each after the name of the set."""
        return tuple(f"{self.name}: {oddity}" for oddity in self.oddities)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary, faults and oddities included."""
        return asdict(self) | {"faults": list(self.faults), "oddities": list(self.oddities)}


@dataclass(frozen=True)
class JoinCheck:
    """How the rows of several sets find each other.

    Attributes
    ----------
    matched_by
        ``"id"`` where all sets have ids, else ``"position"``.
    common
        Items that all sets have; None where the number of rows differs and there are no ids.
    left_over
        Rows of each set that are not among them.
    """

    matched_by: str
    common: int | None
    left_over: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary."""
        return asdict(self)

    def sentence(self) -> str:
        """Say how the sets join, in one sentence."""
        if self.common is None:
            return (
                "Nothing joins the sets: rows without ids are matched by position, and the sets "
                "differ in length."
            )
        rest = sum(self.left_over)
        what = f"{rest:,} rows have no partner" if rest else "none is left over"
        return f"{self.common:,} items in common, matched by {self.matched_by}; {what}."


def check_set(embeddings: Embeddings, name: str) -> SetCheck:
    """Look for faults and oddities in one set.

    Examples
    --------
    >>> x = np.eye(4)[[0, 1, 1, 2]]
    >>> check_set(Embeddings(x), "x").oddities[:2]
    ('1 row repeats an earlier row exactly', '1 dimension never changes')
    """
    vectors = embeddings.vectors
    finite = np.isfinite(vectors).all(axis=1)
    known = vectors[finite].astype(np.float64)
    largest = np.abs(known).max(axis=1, initial=0.0)
    # By the largest entry first: squares of very large or small entries leave float64's range.
    scaled = known / np.where(largest > 0, largest, 1.0)[:, None]
    lengths = np.linalg.norm(scaled, axis=1)
    norms = lengths * largest
    repeated = _first_of_equal(known) != np.arange(len(known))
    distinct = (largest > 0) & ~repeated
    near, sampled = _near_duplicates(scaled[distinct] / lengths[distinct, None])
    ids = Counter(() if embeddings.ids is None else embeddings.ids.tolist())
    return SetCheck(
        name=name,
        rows=len(vectors),
        dimensions=vectors.shape[1],
        dtype=str(vectors.dtype),
        labels=None if embeddings.labels is None else len(np.unique(embeddings.labels)),
        whole_numbers=bool(len(known)) and not bool((known % 1).any()),
        has_ids=embeddings.ids is not None,
        empty_ids=ids[""],
        repeated_ids=sum(count - 1 for identity, count in ids.items() if identity),
        not_finite=int((~finite).sum()),
        zero=int((largest == 0).sum()),
        norms=(float(norms.min()), float(np.median(norms)), float(norms.max()))
        if len(norms)
        else None,
        normalised=bool(len(norms)) and bool((np.abs(norms - 1) <= _UNIT).all()),
        duplicates=int(repeated.sum()),
        near_duplicates=near,
        sampled=sampled,
        constant_dimensions=int((np.ptp(known, axis=0) == 0).sum()) if len(known) else 0,
    )


def check_join(sets: Sequence[Embeddings]) -> JoinCheck:
    """Say how the rows of several sets find each other; refuse nothing."""
    if all(each.ids is not None for each in sets):
        ids = [set(each.ids.tolist()) for each in sets if each.ids is not None]
        common = len(set.intersection(*ids))
        return JoinCheck("id", common, tuple(len(each) - common for each in sets))
    sizes = {len(each) for each in sets}
    if len(sizes) > 1:
        return JoinCheck("position", None, tuple(len(each) for each in sets))
    return JoinCheck("position", sizes.pop(), (0,) * len(sets))


def _some(count: int, what: str) -> str:
    """Say that one row repeats, or that several rows repeat."""
    noun, verb = what.split(" ", 1)
    return f"1 {noun} {verb}s" if count == 1 else f"{count:,} {noun}s {verb}"


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"


def _first_of_equal(rows: Floats) -> npt.NDArray[np.int64]:
    """Return for each row the first that equals it."""
    seen: dict[bytes, int] = {}
    rows = rows + 0.0  # -0.0 and 0.0 are one number in two patterns of bits
    return np.array([seen.setdefault(row.tobytes(), k) for k, row in enumerate(rows)], np.int64)


def _near_duplicates(points: Floats) -> tuple[int, int | None]:
    """Count unit vectors very near an earlier one; of many, in a sample, whose size is returned."""
    chosen = np.random.default_rng(0).permutation(len(points))[:_MOST_PAIRED]
    some = np.ascontiguousarray(points[np.sort(chosen)], np.float32)

    def count(rows: slice) -> int:
        cosines = some[rows] @ some[: rows.stop].T
        earlier = np.arange(rows.stop) < np.arange(rows.start, rows.stop)[:, None]
        return int(((cosines > NEAR) & earlier).any(axis=1).sum())

    with Workers(len(some)) as workers:
        near = sum(workers.map(count, blocks(len(some), _ROWS)))
    return near, len(some) if len(some) < len(points) else None

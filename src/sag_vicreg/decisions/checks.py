"""What a check found in a set or a table: faults, oddities, how rows join."""

from dataclasses import asdict, dataclass
from typing import Any

from sag_vicreg.structure.points import FEWEST_POINTS


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
        Smallest, median and largest length of the finite rows; None where there are none. Of more
        than 100,000 rows the median is that of a random sample.
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
        counted = (
            (self.not_finite, "NaN or infinity: remove or repair them"),
            (self.empty_ids, "an empty id: give every row an id, or none"),
            (self.repeated_ids, "the id of another row: ids must be unique"),
            (
                self.zero,
                "no direction, being zero throughout: remove them, or compare in geometry "
                "'euclidean'",
            ),
        )
        found = [
            f"{'1 row has' if count == 1 else f'{count:,} rows have'} {what}"
            for count, what in counted
            if count
        ]
        if self.rows < FEWEST_POINTS:
            found.append(f"{self.rows:,} rows in all: a tree needs at least {FEWEST_POINTS}")
        elif self.duplicates == self.rows - 1:
            found.append("all rows are the same point: embed different items")
        return tuple(found)

    @property
    def oddities(self) -> tuple[str, ...]:
        """What a comparison takes, and its reader should know."""
        among = "" if self.sampled is None else f", of {self.sampled:,} sampled"
        counted = (
            (self.duplicates, "row", "repeat", " an earlier row exactly"),
            (self.near_duplicates, "row", "nearly repeat", f" an earlier row{among}"),
            (self.constant_dimensions, "dimension", "never change", ""),
        )
        found = [
            (f"1 {noun} {verb}s" if count == 1 else f"{count:,} {noun}s {verb}") + rest
            for count, noun, verb, rest in counted
            if count
        ]
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

    @property
    def fault(self) -> str | None:
        """Why a comparison would refuse to join them, with the remedy; None where it would not."""
        if not self.common:
            return f"{self.sentence()} Give files of the same items"
        if any(self.left_over):
            return f"{self.sentence()} Keep the rows all have, or compare with --join inner"
        return None

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

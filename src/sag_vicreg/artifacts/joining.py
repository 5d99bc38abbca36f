"""How the rows of several sets find each other: one policy, for every command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.embeddings import Embeddings
from sag_vicreg.artifacts.texts import Texts
from sag_vicreg.errors import InputError, check_name


@dataclass(frozen=True, eq=False)
class Joined:
    """Sets whose rows stand for the same items in the same order.

    Attributes
    ----------
    sets
        In the order given, their rows in the order of the first.
    by
        How rows found each other.
    left_out
        How many rows of each set have no partner in another and were left out.
    """

    sets: tuple[Embeddings, ...]
    by: Literal["id", "position"]
    left_out: tuple[int, ...]

    @property
    def texts(self) -> Texts | None:
        """What the items are, in words, by the first set that says so."""
        return next((each.texts for each in self.sets if each.texts is not None), None)

    def note(self, names: Sequence[str]) -> str | None:
        """Say how many rows were left out, of which set; None where all are there."""
        parts = [f"{n:,} of {name}" for n, name in zip(self.left_out, names, strict=True) if n]
        return f"left out rows whose id not every set has: {', '.join(parts)}" if parts else None


def join(
    sets: Sequence[Embeddings], names: Sequence[str] | None = None, *, how: str = "exact"
) -> Joined:
    """Match rows by id where all sets have ids, else by position.

    Parameters
    ----------
    sets
        Two or more.
    names
        What to call them in messages.
    how
        ``exact`` refuses sets whose ids do not agree; ``inner`` takes the ids that all have.

    Raises
    ------
    InputError
        An id is repeated, or missing from a set; none is common to all; or, without ids, the sets
        differ in length.

    Examples
    --------
    >>> a = Embeddings(np.eye(3), np.array(["x", "y", "z"]))
    >>> b = Embeddings(np.eye(2), np.array(["z", "x"]))
    >>> joined = join([a, b], how="inner")
    >>> joined.sets[1].ids.tolist(), joined.left_out
    (['x', 'z'], (1, 0))
    """
    check_name("join", how, ("exact", "inner"))
    called = list(names or [f"set {place}" for place in range(1, len(sets) + 1)])
    if any(each.ids is None for each in sets):
        _check_positions(sets, called)
        return Joined(tuple(sets), "position", (0,) * len(sets))
    rows = [_row_of_id(each.ids, name) for each, name in zip(sets, called, strict=True)]
    if how == "exact":
        _check_same(rows, called)
    shared = [identity for identity in rows[0] if all(identity in each for each in rows[1:])]
    if not shared:
        raise InputError(f"{called[0]} and {called[1]} have no id in common: embed the same items")
    return Joined(
        tuple(
            each.take(np.array([places[identity] for identity in shared], dtype=np.intp))
            for each, places in zip(sets, rows, strict=True)
        ),
        "id",
        tuple(len(each) - len(shared) for each in sets),
    )


def _check_positions(sets: Sequence[Embeddings], names: Sequence[str]) -> None:
    """Without ids in all sets, lengths must agree, and so must the ids there are."""
    known = [each.ids for each in sets if each.ids is not None]
    for each, name in zip(sets, names, strict=True):
        if len(each) != len(sets[0]):
            raise InputError(
                f"{names[0]} has {len(sets[0])} rows and {name} has {len(each)}: without ids on "
                "both sides rows are matched by position, so the numbers must be equal"
            )
        if each.ids is not None and not np.array_equal(each.ids, known[0]):
            raise InputError(
                f"{name} lists its ids in another order than the other files, and "
                "not all files have ids to match rows by: add ids to every file or to none"
            )


def _check_same(rows: Sequence[dict[str, int]], names: Sequence[str]) -> None:
    for there, name in zip(rows[1:], names[1:], strict=True):
        for here, other, missing_from in ((rows[0], there, name), (there, rows[0], names[0])):
            missing = [identity for identity in here if identity not in other]
            if missing:
                raise InputError(
                    f"id '{missing[0]}' is missing from {missing_from} ({len(missing)} missing in "
                    "all): keep only the rows all sets have, as --join inner of `compare`, "
                    "`evaluate` and `report` does"
                )


def _row_of_id(ids: npt.NDArray[np.str_] | None, name: str) -> dict[str, int]:
    assert ids is not None
    rows: dict[str, int] = {}
    for row, identity in enumerate(ids.tolist()):
        if identity in rows:
            raise InputError(
                f"id '{identity}' is repeated in {name} (rows {rows[identity]} and {row}): "
                "ids must be unique"
            )
        rows[identity] = row
    return rows

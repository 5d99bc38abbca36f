"""Which columns of a file are vectors, ids and labels: as the user says, or where it is plain.

A column that is no dimension (an id, a class, a price) changes every distance if it is taken for
one, and nothing in the scores would show it. So the dimensions are guessed only where their names
leave no doubt: numbered alike, from 0 or 1, without a gap.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sag_vicreg.errors import InputError

IDS, LABELS = ("id", "ids"), ("label", "labels")
NOT_NUMBERS = "not numbers"
_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)


@dataclass(frozen=True)
class ColumnNames:
    """What the user says of a file's columns, or of the arrays of an archive.

    Parameters
    ----------
    vector_columns
        Names, ranges such as ``dim_0:dim_127`` and patterns such as ``dim_*``, as a sequence or
        separated by commas. None: found where it is plain.
    id_column, label_column
        One name each. None: ``id`` or ``ids``, ``label`` or ``labels``, where there is one.
    text_column
        One name. None or empty: no texts.
    """

    vector_columns: str | Sequence[str] | None = None
    id_column: str | None = None
    label_column: str | None = None
    text_column: str | None = None

    def find(self, names: Sequence[str]) -> tuple[str | None, str | None, str | None]:
        """Return which of ``names`` hold ids, labels and texts; texts only where it was said."""
        return (
            _find(names, self.id_column, IDS, "--id-column"),
            _find(names, self.label_column, LABELS, "--label-column"),
            _find(names, self.text_column or None, (), "--text-column"),
        )


def _find(
    names: Sequence[str], wanted: str | None, usual: Sequence[str], option: str
) -> str | None:
    found = [name for name in names if name in (usual if wanted is None else (wanted,))]
    if wanted is not None and not found:
        raise InputError(
            f"{option}: there is no '{wanted}' among {brief(names)}; where files differ, give "
            "the option once per file, in their order"
        )
    if len(set(found)) > 1:
        raise InputError(f"there are both '{found[0]}' and '{found[1]}': choose by {option}")
    if len(found) > 1:
        said = "" if wanted is None else f"{option}: "
        raise InputError(f"{said}there is more than one column '{found[0]}': keep one of them")
    return found[0] if found else None


def select(wanted: str | Sequence[str], names: Mapping[int, str]) -> list[int]:
    """Return the places of the columns that ``--vector-columns`` asks for, in the file's order.

    Parameters
    ----------
    wanted
        See :class:`ColumnNames`. A pattern has one ``*``, which stands for anything; a range counts
        from one numbered name to another and must have a column for every number.
    names
        Name by place of the columns to choose from.
    """
    items = [wanted] if isinstance(wanted, str) else list(wanted)
    # Tried whole first: the name of a data frame's nested column holds a comma.
    if len(items) == 1 and not _places(items[0], names):
        items = items[0].split(",")
    places: set[int] = set()
    for item in items:
        found = _places(item, names)
        if not found:
            raise InputError(
                f"--vector-columns: there is no '{item}' among {brief(list(names.values()))}"
            )
        places.update(found)
    return sorted(places)


def _places(item: str, names: Mapping[int, str]) -> list[int]:
    exact = [place for place, name in names.items() if name == item]
    if exact:
        return exact
    if item.count("*") == 1:
        before, after = item.split("*")
        return [
            place
            for place, name in names.items()
            if len(name) >= len(item) - 1 and name.startswith(before) and name.endswith(after)
        ]
    for colon in re.finditer(":", item):
        first, last = _numbered(item[: colon.start()]), _numbered(item[colon.end() :])
        if first and last and first[0] == last[0]:
            return _places_between(item, first[0], first[1], last[1], names)
    return []


def _places_between(
    item: str, affixes: tuple[str, str], first: int, last: int, names: Mapping[int, str]
) -> list[int]:
    numbers = {
        place: found[1]
        for place, name in names.items()
        if (found := _numbered(name)) and found[0] == affixes and first <= found[1] <= last
    }
    known = set(numbers.values())
    missing = next((number for number in range(first, last + 1) if number not in known), None)
    if missing is not None and numbers:
        raise InputError(
            f"--vector-columns {shlex.quote(item)}: there is no column "
            f"'{affixes[0]}{missing}{affixes[1]}'"
        )
    return list(numbers)


def _numbered(name: str) -> tuple[tuple[str, str], int] | None:
    """Split a name at its last number: what stands before and after it, and the number."""
    match = _NUMBERED.fullmatch(name)
    return None if match is None else ((match[1], match[3]), int(match[2]))


def numbered_run(names: Mapping[int, str]) -> list[int]:
    """Return the places of the longest series of names numbered alike, in the order of numbers.

    A series counts from 0 or 1 and misses no number. Columns that all have one name are a series
    too. Where two are equally long, the one that comes first in the file is returned.
    """
    if len(names) > 1 and len(set(names.values())) == 1:
        return list(names)
    series: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for place, name in names.items():
        found = _numbered(name)
        if found:
            series.setdefault(found[0], []).append((found[1], place))
    best: list[int] = []
    for members in series.values():
        members.sort()
        numbers = [number for number, _ in members]
        counted = [list(range(start, start + len(numbers))) for start in (0, 1)]
        if numbers in counted and len(members) > len(best):
            best = [place for _, place in members]
    return best


def check_plain(
    names: Mapping[int, str],
    run: Sequence[int],
    doubts: Mapping[int, str],
    fractions: set[int],
    whole: set[int],
) -> None:
    """Refuse columns unless they are plainly the dimensions of one vector and nothing else.

    Parameters
    ----------
    names
        Name by place of the columns that may be dimensions.
    run
        Those that :func:`numbered_run` finds among the columns of numbers.
    doubts
        Why a column certainly is none, by place.
    fractions, whole
        Places of columns with fractions, and of columns of whole numbers: these are more likely
        ids, classes or counts where others hold fractions. Zeros alone change no distance and
        are neither.
    """
    numbers = [place for place in names if place not in doubts]
    if not run and not doubts:
        every = list(names.values())
        these = f"column {brief(every)} is" if len(every) == 1 else f"columns {brief(every)} are"
        raise InputError(
            f"{these} not numbered without a gap as v0, v1, v2 are, so any may be something else "
            f"than a dimension: add {_typed('--vector-columns', '*')} to take them all, or name "
            f"those to take, as in {_typed('--vector-columns', ','.join(every[:2]))}"
        )
    doubts = dict(doubts)
    for place in numbers if run else ():
        if place not in run:
            doubts[place] = f"not numbered as {names[run[0]]} to {names[run[-1]]} are"
        elif place in whole and not fractions.isdisjoint(run):
            doubts[place] = "whole numbers where others are fractions"
    if doubts:
        kept = [names[place] for place in run or numbers if place not in doubts]
        raise InputError(_refusal({names[place]: why for place, why in doubts.items()}, kept))


def _refusal(doubts: Mapping[str, str], kept: Sequence[str]) -> str:
    """Say which columns may be no dimensions, why, and what to type."""
    groups: dict[str, list[str]] = {}
    for name, why in doubts.items():
        groups.setdefault(why, []).append(name)
    shown = ", ".join(f"{brief(members)} ({why})" for why, members in groups.items())
    name, one = next(iter(doubts)), len(doubts) == 1
    remedies = [f"{_typed('--id-column', name)} or {_typed('--label-column', name)} if it is one"]
    if ranges := _as_ranges(kept):
        leave = f"to leave {'it' if one else 'them'} out"
        remedies.insert(0, f"{_typed('--vector-columns', ranges)} {leave}")
    if not any(why.endswith(NOT_NUMBERS) for why in doubts.values()):
        remedies.append(f"{_typed('--vector-columns', '*')} to take every column as a dimension")
    what = f"column {shown} may be no dimension" if one else f"columns {shown} may be no dimensions"
    return f"{what}: add {', or '.join(remedies)}"


def _as_ranges(names: Sequence[str]) -> str:
    """Write names, ascending by number, for ``--vector-columns``; nothing where that is long."""
    ranges: list[list[str]] = []
    previous: tuple[tuple[str, str], int] | None = None
    for name in dict.fromkeys(names):
        found = _numbered(name)
        if previous and found and found == (previous[0], previous[1] + 1):
            ranges[-1][1:] = [name]
        else:
            ranges.append([name])
        previous = found
    return ",".join(":".join(ends) for ends in ranges) if len(ranges) <= 4 else ""


def _typed(option: str, value: str) -> str:
    return f"{option} {shlex.quote(value)}"


def brief(names: Sequence[str]) -> str:
    """List names, the middle of a long list left out."""
    if not names:
        return "no columns"
    quoted = [f"'{name}'" for name in names]
    return ", ".join(quoted if len(quoted) <= 6 else [*quoted[:3], "...", quoted[-1]])

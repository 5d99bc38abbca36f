"""The door for files that a user can hand over: recipes, logs, results, embeddings, thumbnails.

A file comes in as bytes, bounded in size. What leaves is plain values, bounded in depth and number,
for a schema to turn into a typed object. Whatever a parser raises in between becomes one line that
names the file, the place in it and the remedy. Behind the door nothing is checked again.
"""

import csv
import io
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

from sag_vicreg.errors import InputError
from sag_vicreg.machine import available_bytes

MOST_DEPTH = 64
"""Levels of lists and mappings in a JSON or YAML file."""
MOST_VALUES = 1_000_000
"""Values in a JSON file."""
_LARGEST = 2**63
# Up to the closing quote or, without one, the end: every character is looked at once.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")

T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Parameters
    ----------
    name
        With its article, for messages: ``a recipe``.
    remedy
        What to do about a damaged one, as an imperative without a full stop.
    most_bytes
        A larger file is refused unread; None for files that may fill the memory.
    """

    name: str
    remedy: str
    most_bytes: int | None = 1 << 24


@contextmanager
def open_file(path: Path | str, kind: Kind) -> Iterator[BinaryIO]:
    """Open a file for the time of a ``with`` block, which holds everything that reads it.

    Raises
    ------
    InputError
        In place of whatever the block raises: one line that begins with the path.
    """
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise InputError(f"it is {what}: name {kind.name}")
        if status.st_size == 0:
            raise InputError(f"it is empty: {kind.remedy}")
        if kind.most_bytes is not None and status.st_size > kind.most_bytes:
            raise InputError(
                f"it has {status.st_size:,} bytes, more than the {kind.most_bytes:,} that "
                f"{kind.name} may have: {kind.remedy}"
            )
        with Path(path).open("rb") as file:
            yield file
    except InputError as error:
        # One line already, and it may quote a name of two spaces, to be typed as it is.
        raise InputError(f"{path}: {_cut(str(error), 700)}") from error
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except MemoryError as error:
        raise InputError(f"{path}: it does not fit into memory: {kind.remedy}") from error
    except OSError as error:
        reason = error.strerror or _one_line(error)
        raise InputError(f"{path}: cannot read it ({reason}): {kind.remedy}") from error
    except Exception as error:  # parsers share no base class for what damaged bytes do to them
        raise InputError(
            f"{path} is not {kind.name} ({_one_line(error)}): {kind.remedy}"
        ) from error


def _one_line(error: BaseException) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8 text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        return ": ".join(filter(None, (where, first["msg"])))[:400]
    return _cut(" ".join(str(error).split()) or type(error).__name__, 200)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


def _whole(file: BinaryIO, kind: Kind) -> bytes:
    # A file may grow between the look at its size and the reading.
    return file.read(-1 if kind.most_bytes is None else kind.most_bytes)


def read_json(path: Path | str, kind: Kind, form: type[T]) -> T:
    """Read a JSON file as an object of ``form``, by its schema."""
    with open_file(path, kind) as file:
        return check_form(parse_json(_whole(file, kind)), form)


def check_form(value: Any, form: type[T]) -> T:
    """Turn plain values into an object of ``form``; ValidationError where they are none."""
    checked: T = _schema(form).validate_python(value)  # type: ignore[arg-type]
    return checked


@cache  # a schema takes longer to make than most files to read
def _schema(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def read_csv(
    path: Path | str,
    kind: Kind,
    parse: Callable[[list[str], list[list[str]]], T],
    *,
    growing: bool = False,
) -> T:
    """Read a CSV file of text: ``parse`` gets the cells of the first line and of all others.

    Of a ``growing`` file a last line without an end is not there yet.
    """
    with open_file(path, kind) as file:
        text = _whole(file, kind).decode("utf-8-sig")
        if growing:
            text = text[: text.rfind("\n") + 1]
        lines = io.StringIO(text, newline="")
        first, *rest = list(csv.reader(lines, skipinitialspace=True)) or [[]]
        return parse(first, [row for row in rest if row])


def parse_json(data: bytes) -> Any:
    """Parse JSON whose numbers are finite and whose depth and size are bounded."""
    text = data.decode("utf-8-sig")
    check_brackets(text)
    value = json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_integer)
    if "\\ud" in text.lower():  # half a character, which no output could encode
        json.dumps(value, ensure_ascii=False).encode()
    return value


def check_brackets(text: str) -> None:
    """Refuse what is too deep or too large before anything is built from it."""
    bare = _STRING.sub("", text)
    if sum(map(bare.count, ",[{")) > MOST_VALUES:
        raise InputError(f"it holds more than {MOST_VALUES:,} values")
    depth = 0
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MOST_DEPTH:
            raise InputError(f"it is nested more than {MOST_DEPTH} levels deep")


def _refuse(constant: str) -> NoReturn:
    raise InputError(f"{constant} is not a number that JSON has")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise InputError(f"the number {digits[:40]} is beyond the range of floats")
    return number


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -_LARGEST <= (number := int(digits)) < _LARGEST:
        raise InputError(f"the number {digits[:40]} has more than 64 bits")
    return number


def check_values(value: Any) -> None:
    """Refuse what a YAML file can hold and a JSON file cannot, such as dates and keys of numbers.

    The value's depth and size must be bounded already.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str):
                raise InputError(f"the key {str(key)[:40]} is not text: write it in quotes")
            check_values(key)
            check_values(part)
    elif isinstance(value, list):
        for part in value:
            check_values(part)
    elif isinstance(value, str):
        value.encode()
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise InputError("it holds a whole number of more than 64 bits")
    elif not isinstance(value, int | float | None):
        raise InputError(f"it holds a {type(value).__name__}: write it in quotes, as text")


def file_size(file: BinaryIO) -> int:
    """Return the bytes of an open file."""
    return os.fstat(file.fileno()).st_size


def check_memory(needed: int) -> None:
    """Refuse what would not fit into the memory that is left."""
    free = available_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"it holds {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB of memory are free: "
            "take fewer rows or columns"
        )

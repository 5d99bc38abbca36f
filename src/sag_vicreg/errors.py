"""The one error a user's mistake raises, and the check for the optional training stack."""

import importlib.util
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

# Control characters, marks that turn the direction of writing, halves of characters, which stand
# for bytes of a file name that are not UTF-8, and what is no character and no XML may hold.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""Write out what a terminal would obey or could not show.

    Examples
    --------
    >>> print(visible("red \x1b[31m alert"))
    red \x1b[31m alert
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class InputError(ValueError):
    """Something the user gave is wrong.

    The message is one line that names the problem and the remedy; the command line prints it
    as it is and exits with code 2. Anything else that is raised is a bug and shows a traceback.
    It may quote what a file holds: :func:`visible` keeps that from being obeyed by a terminal.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(visible(" ".join(str(message).splitlines())))


class NotFiniteError(InputError):
    """NaN or infinity where numbers must be finite."""


class TrainingStopped(InputError):
    """A training stopped itself: its loss is not finite, or its embedding has collapsed.

    The same recipe would stop at the same step again, so this is a result of the recipe, unlike a
    full disk or a missing dataset.
    """


def unknown_name(
    kind: str, name: str, valid: Iterable[str], *, listed_by: str | None = None
) -> InputError:
    """Build the error for a misspelt name: the nearest valid one first, then all of them.

    Where all of them are too many to help, ``listed_by`` says what lists them.

    Examples
    --------
    >>> str(unknown_name("geometry", "cosin", ["cosine", "euclidean"]))
    "unknown geometry 'cosin': did you mean 'cosine'? Valid: cosine, euclidean"
    """
    names = list(valid)
    near = get_close_matches(name, names, n=1)
    hint = f" did you mean '{near[0]}'?" if near else ""
    rest = f"Valid: {', '.join(names)}" if listed_by is None else f"{listed_by} has them all"
    return InputError(f"unknown {kind} '{name}':{hint} {rest}")


def check_name(kind: str, name: str, valid: Collection[str]) -> None:
    """Refuse a name that is not among the valid ones."""
    if name not in valid:
        raise unknown_name(kind, name, valid)


def first_line(error: BaseException) -> str:
    """Quote an error of the system or of another library in a line of ours."""
    said = getattr(error, "strerror", None) or str(error).strip().partition("\n")[0][:160]
    return said or type(error).__name__


def require_train_extra(what: str) -> None:
    """Refuse in one line where ``what`` needs the training stack and it is not installed."""
    missing = [
        name
        for name in ("torch", "torchvision", "timm", "lightly", "lightning")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise InputError(
            f"{what} needs {', '.join(missing)}: pip install 'sag-vicreg[train]' brings all of it"
        )

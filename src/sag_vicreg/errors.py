"""The one error a user's mistake raises, and the check for the optional training stack."""

import importlib.util
from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Something the user gave is wrong.

    The message is one line that names the problem and the remedy; the command line prints it
    as it is and exits with code 2. Anything else that is raised is a bug and shows a traceback.
    """


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

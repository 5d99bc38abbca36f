"""What other installed packages bring: methods, datasets and measures, by entry points.

A package declares them under ``sag_vicreg.methods``, ``sag_vicreg.datasets`` and
``sag_vicreg.measures``. Nothing is looked for until a name is asked for that is not built in, or
names are listed; and of all packages only the one that has the name is imported.
"""

import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sag_vicreg.errors import InputError, first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
# What can stand in a recipe, in a file's name and in a flat key; KIND:PATH stands for any path.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(:PATH)?")


@dataclass(frozen=True, eq=False)
class Plugins(Generic[T]):
    """One group of entry points.

    Attributes
    ----------
    noun
        What one of them is called: ``method`` of the group ``sag_vicreg.methods``.
    built_in
        Names that no package may take.
    problem
        What is wrong with an object that was found under a name; None where nothing is.
    """

    noun: str
    built_in: Collection[str]
    problem: Callable[[Any, str], str | None]

    def names(self) -> tuple[str, ...]:
        """Return every name that an installed package brings; none of them is imported."""
        return tuple(sorted(self._found()))

    def find(self, name: str) -> T | None:
        """Load what has this name; None where no package brings it."""
        entry = self._found().get(name)
        if entry is None:
            return None
        found: T = self.named_object(name, entry.value)
        if problem := self.problem(found, name):
            raise self.refusal(name, f"{entry.value} {problem}")
        return found

    def refusal(self, name: str, problem: str) -> InputError:
        """Build the line that says what is wrong with a name, whose it is, and what to do."""
        package, version = _origin(self._found()[name])
        return InputError(
            f"{self.noun} '{name}' of the package {package} {version} cannot be used: {problem}; "
            f"install a version of {package} in which it works, or `pip uninstall {package}`"
        )

    def version(self, name: str) -> dict[str, str]:
        """Return package and version behind a name; nothing for a name that no package brings."""
        entry = None if name in self.built_in else self._found().get(name)
        return {} if entry is None else dict([_origin(entry)])

    def named_object(self, name: str, where: str) -> Any:
        """Import ``module:object``, of which the declaration under ``name`` speaks."""
        from importlib.metadata import EntryPoint

        try:
            return EntryPoint(name, where, self.noun).load()
        except Exception as error:  # another's module raises what it likes
            if name in self.built_in:
                raise
            raise self.refusal(name, f"importing {where} failed, {_said(error)}") from error

    def _found(self) -> "dict[str, EntryPoint]":
        found: dict[str, EntryPoint] = {}
        for entry in _entries(f"sag_vicreg.{self.noun}s", tuple(sys.path)):
            package = " ".join(_origin(entry))
            if not _NAME.fullmatch(entry.name):
                raise InputError(
                    f"the package {package} brings a {self.noun} '{entry.name}', which is no "
                    "name (letters, digits, - and _): uninstall it, or rename it there"
                )
            if entry.name in self.built_in:
                raise InputError(
                    f"the package {package} brings a {self.noun} '{entry.name}', a name that is "
                    "built in: uninstall it, or rename it there"
                )
            if other := found.get(entry.name):
                raise InputError(
                    f"{self.noun} '{entry.name}' is brought by {' '.join(_origin(other))} and by "
                    f"{package}: uninstall one of them"
                )
            found[entry.name] = entry
        return found


@cache
def _entries(group: str, path: tuple[str, ...]) -> "tuple[EntryPoint, ...]":
    """List a group's entry points, once per search path: every installed package is looked at."""
    from importlib.metadata import entry_points  # every command would wait for its parsers

    try:
        return tuple(entry_points(group=group))
    except Exception as error:  # one package's file that cannot be parsed
        raise InputError(
            f"the entry points of the installed packages cannot be read ({_said(error)}): "
            "`python -m pip check` may say which package is damaged"
        ) from error


def _origin(entry: "EntryPoint") -> tuple[str, str]:
    """Return a package's name and version, as far as its metadata says."""
    name, version = ("", "") if entry.dist is None else (entry.dist.name, entry.dist.version)
    return name or entry.value.partition(":")[0], version or "(no version)"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"

"""Options that several commands have, alone or as a group."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def check_outputs(
    *files: Path | None, plot: Path | None = None, inputs: Iterable[Path | str | None] = ()
) -> None:
    """Refuse a file or a figure that cannot be written, before anything is computed.

    It can be none of the ``inputs``, nor one file twice.
    """
    from sag_vicreg.artifacts import check_apart, check_writable

    check_apart(filter(None, (*files, plot)), filter(None, inputs))
    for path in filter(None, files):
        check_writable(path)
    if plot is not None:
        from sag_vicreg.figures.style import check_figure_path

        check_figure_path(plot)


def save_plot(figure: "Figure", plot: Path) -> None:
    """Save a figure, and say so; before anything is printed, whose reader may go away."""
    from sag_vicreg.figures.style import save_figure

    save_figure(figure, plot)
    typer.echo(f"drew {plot}", err=True)


def whole_numbers(option: str, text: str, remedy: str, *, at_least: int = 0) -> list[int]:
    """Read what an option says: whole numbers separated by commas, so many or more."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) < at_least or not all(part.isdecimal() for part in parts):
        raise InputError(f"{option} is '{text}': {remedy}")
    return [int(part) for part in parts]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a parameter whose type is a dataclass be a group: each of its fields is an option."""
    parameters = inspect.signature(command).parameters
    groups: dict[str, Any] = {
        name: each.annotation for name, each in parameters.items() if is_dataclass(each.annotation)
    }
    options: list[inspect.Parameter] = []
    for name, each in parameters.items():
        members = inspect.signature(groups[name]).parameters if name in groups else {name: each}
        options += [option.replace(kind=each.kind) for option in members.values()]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run

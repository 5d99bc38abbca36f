"""Options that several commands have, alone or as a group."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def check_outputs(*files: Path | None, plot: Path | None = None) -> None:
    """Refuse a file or a figure that cannot be written, before anything is computed."""
    from sag_vicreg.artifacts import check_writable

    for path in filter(None, files):
        check_writable(path)
    if plot is not None:
        from sag_vicreg.figures.style import check_figure_path

        check_figure_path(plot)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a parameter whose type is a dataclass be a group: each of its fields is an option."""
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            for option in inspect.signature(groups[name]).parameters.values():
                options.append(option.replace(kind=parameter.kind))
        else:
            options.append(parameter)

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run

"""Progress bars, the same everywhere: on stderr, with an ETA, gone when the work is done."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

T = TypeVar("T")


@contextmanager
def progress_bar(description: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Show a bar while the block runs; the block calls the yielded function to advance it.

    Examples
    --------
    >>> with progress_bar("permutations", total=199) as advance:
    ...     for _ in range(199):
    ...         advance(1)
    """
    with make_bar() as progress:
        task = progress.add_task(description, total=total)
        yield lambda amount: progress.update(task, advance=amount)


def make_bar(
    *more: "ProgressColumn", bar_width: int | None = 40, expand: bool = False
) -> "Progress":
    """Make rich's bar: description, steps, time gone and left, then ``more`` columns.

    Nothing is drawn where stderr is not a terminal, so logs and pipes stay clean: it is disabled.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=bar_width),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        *more,
        console=console,
        transient=True,
        expand=expand,
        disable=not console.is_terminal,
    )


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Iterate over ``items`` under a progress bar; ``total`` where they do not know it."""
    with progress_bar(description, total or length_hint(items) or None) as advance:
        for item in items:
            yield item
            advance(1)

"""Progress bars, the same everywhere: on stderr, with an ETA, gone when the work is done."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def progress_bar(description: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Show a bar while the block runs; the block calls the yielded function to advance it.

    Nothing is drawn where stderr is not a terminal, so logs and pipes stay clean.

    Examples
    --------
    >>> with progress_bar("permutations", total=199) as advance:
    ...     for _ in range(199):
    ...         advance(1)
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
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(description, total=total)
        yield lambda amount: progress.update(task, advance=amount)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Iterate over ``items`` under a progress bar; ``total`` where they do not know it."""
    with progress_bar(description, total or length_hint(items) or None) as advance:
        for item in items:
            yield item
            advance(1)

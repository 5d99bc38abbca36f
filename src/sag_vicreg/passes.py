"""Passes over a table's pieces: one task per piece, its results taken in the order of the pieces.

What a task returns depends on its piece alone, and sums are formed in one order. So a pass gives
the same bits on one thread, on many and on other machines.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sag_vicreg.machine import thread_count
from sag_vicreg.progress import track

T = TypeVar("T")
R = TypeVar("R")


class Passes:
    """Passes on the threads of this process.

    Attributes
    ----------
    count : int
        Tasks that run at the same time, and results that may wait to be taken.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or thread_count()

    def map(
        self, task: Callable[[T], R], items: Iterable[T], *, bar: str | None = None
    ) -> Iterator[R]:
        """Yield ``task(item)`` of each item in their order; few results exist at a time."""
        every = list(items)
        results = self._results(task, every)
        return track(results, bar, len(every)) if bar else results

    def _results(self, task: Callable[[T], R], items: list[T]) -> Iterator[R]:
        if self.count == 1:
            yield from map(task, items)
        else:
            with ThreadPoolExecutor(self.count) as pool:
                yield from in_order(lambda item: pool.submit(task, item), items, self.count)


def in_order(submit: Callable[[T], Any], items: Iterable[T], most: int) -> Iterator[Any]:
    """Yield what the future of each item results in, with at most so many more under way.

    Futures nobody waits for any longer are cancelled.
    """
    waiting: deque[Any] = deque()
    try:
        for item in items:
            waiting.append(submit(item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()

"""Threads over fixed blocks: the same bits whatever the number of threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Self, TypeVar

from sag_vicreg.machine import thread_count
from sag_vicreg.progress import track

# Rows from which work over all pairs takes long enough to be waited for.
LONG = 8_000

# Items below which one thread is faster than two at trees and pairs of them.
FEW = 600

T = TypeVar("T")
R = TypeVar("R")


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Workers:
    """A pool of threads, each calling NumPy and kernels that release the GIL.

    For few ``items`` it is one thread. While it is open, BLAS itself runs on one thread: how BLAS
    splits a product depends on its threads, and with the split the last bits of the result.
    """

    _pool: ThreadPoolExecutor | None

    def __init__(self, items: int | None = None) -> None:
        # For few items, tasks are so short that threads waiting for each other cost more.
        self.count = 1 if items is not None and items < FEW else thread_count()

    def __enter__(self) -> Self:
        self._limits = _blas().limit(limits=1, user_api="blas")
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        return self

    def __exit__(self, *raised: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._limits.restore_original_limits()

    def map(self, task: Callable[[T], R], items: Iterable[T], *, bar: str | None = None) -> list[R]:
        """Run ``task`` on every item, and return the results in the order of the items.

        Long work shows a progress bar under the name ``bar``.
        """
        items = list(items)
        results = map(task, items) if self._pool is None else self._pool.map(task, items)
        return list(track(results, bar, len(items)) if bar else results)


class OneThread(Workers):
    """The same work without a pool, for tasks that already run side by side in one.

    It leaves BLAS alone: the pool around it holds it to one thread.
    """

    def __init__(self) -> None:
        self.count = 1
        self._pool = None


def blocks(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into slices of ``size``, the last one shorter."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]

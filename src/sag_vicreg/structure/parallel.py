"""Threads over fixed blocks: the same bits whatever the number of threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

from sag_vicreg.machine import thread_count
from sag_vicreg.progress import track

# Rows from which work over all pairs takes long enough to be waited for.
LONG = 8_000

T = TypeVar("T")
R = TypeVar("R")


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Workers:
    """A pool of threads, each calling NumPy and kernels that release the GIL.

    While it is open, BLAS itself runs on one thread: how BLAS splits a product depends on its
    threads, and with the split the last bits of the result.
    """

    def __init__(self) -> None:
        self.count = thread_count()

    def __enter__(self) -> Self:
        self._limits = _blas().limit(limits=1, user_api="blas")
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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


def blocks(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into slices of ``size``, the last one shorter."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch


class InThisProcess:
    """Runs every task at once, here, where all that it needs is imported already."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args))
        return future

    def close(self) -> None:
        """Nothing runs on."""


@pytest.fixture(scope="package")
def in_this_process() -> Callable[[], AbstractContextManager[None]]:
    """While it is entered, the grid starts no processes: that it does has tests of its own."""

    @contextmanager
    def here() -> Iterator[None]:
        threads = torch.get_num_threads()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sag_vicreg.reproduce.grid.Processes", lambda log: InThisProcess())
            yield
        torch.set_num_threads(threads)  # a worker takes its share of the cores

    return here

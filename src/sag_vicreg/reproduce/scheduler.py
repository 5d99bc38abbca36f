"""Tasks that wait for each other, run a few at a time by whatever runs functions.

It knows nothing of training. A task is a function that answers ``DONE``, or ``BUSY`` when somebody
else is at it; what runs it is anything with ``submit`` whose answer has ``done`` and ``result``:
a process pool, or submitit on a cluster.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sag_vicreg.errors import InputError

DONE, BUSY = "done", "busy"
POLL_SECONDS = 0.2
RETRY_SECONDS = 5.0


class Future(Protocol):
    """What a submitted task answers."""

    def done(self) -> bool:
        """Whether it has ended, well or not."""

    def result(self) -> Any:
        """Its answer; raises what the task raised."""


class Executor(Protocol):
    """What runs functions elsewhere."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future:
        """Start ``function(*args)`` soon."""


@dataclass(frozen=True)
class Task:
    """A function, its arguments, the keys of tasks it needs, and its estimated seconds.

    ``progress`` says, while the task runs, which share of it is done. ``free`` says whether nobody
    else is at it: asked here first, since on a cluster a job that finds out costs an allocation.
    """

    key: str
    label: str
    work: Callable[..., str]
    arguments: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()
    seconds: float = 1.0
    progress: Callable[[], float] = field(default=lambda: 0.0)
    free: Callable[[], bool] = field(default=lambda: True)


def run_tasks(
    tasks: Iterable[Task],
    executor: Executor,
    *,
    jobs: int,
    advance: Callable[[float], None] = lambda seconds: None,
    note: Callable[[str], None] = lambda line: None,
    retry_seconds: float = RETRY_SECONDS,
) -> dict[str, str]:
    """Run all tasks, at most ``jobs`` at once, each after those it needs.

    ``advance`` is told estimated seconds of finished work, in pieces, for a bar over everything.
    A task that is busy elsewhere is asked for again until it is done there. A user's mistake in
    one task would be the same in the next, so :class:`InputError` ends the whole run; any other
    failure costs that task and those that need it. Returns why each of these is not done, by key.
    """
    waiting = {task.key: task for task in tasks}
    running: dict[str, tuple[Task, Future]] = {}
    failures: dict[str, str] = {}
    not_before: dict[str, float] = {}
    shown: dict[str, float] = {}

    def show(task: Task, share: float) -> None:
        before = shown.get(task.key, 0.0)
        shown[task.key] = max(share, before)
        advance((shown[task.key] - before) * task.seconds)

    def retry_later(task: Task) -> None:
        waiting[task.key] = task
        not_before[task.key] = time.monotonic() + retry_seconds

    while waiting or running:
        for key, task in list(waiting.items()):
            # What is not among the tasks, or no longer, is done.
            blocked = any(need in waiting or need in running for need in task.needs)
            early = time.monotonic() < not_before.get(key, 0.0)
            if any(need in failures for need in task.needs):
                failures[key] = "what it needs has failed"
                del waiting[key]
            elif blocked or early or len(running) >= jobs:
                continue
            elif task.free():
                running[key] = (waiting.pop(key), executor.submit(task.work, *task.arguments))
            else:
                retry_later(task)
        for key, (task, future) in list(running.items()):
            if not future.done():
                show(task, min(task.progress(), 0.99))
                continue
            del running[key]
            try:
                if future.result() == BUSY:
                    retry_later(task)
                    continue
            except InputError:
                raise
            except Exception as error:
                failures[key] = f"{type(error).__name__}: {error}"
                note(f"failed: {task.label} ({failures[key].splitlines()[0]})")
                continue
            show(task, 1.0)
            note(f"done: {task.label}")
        time.sleep(POLL_SECONDS)
    return failures

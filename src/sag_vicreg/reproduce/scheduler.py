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


@dataclass(frozen=True)
class Failure:
    """A task that failed, and why; tasks that needed it were left out."""

    task: Task
    reason: str


def run_tasks(
    tasks: Iterable[Task],
    executor: Executor,
    *,
    jobs: int,
    advance: Callable[[float], None] = lambda seconds: None,
    note: Callable[[str], None] = lambda line: None,
    retry_seconds: float = RETRY_SECONDS,
) -> list[Failure]:
    """Run all tasks, at most ``jobs`` at once, each after those it needs.

    ``advance`` is told estimated seconds of finished work, in pieces, for a bar over everything.
    A task that is busy elsewhere is asked for again until it is done there. A user's mistake in
    one task would be the same in the next, so :class:`InputError` ends the whole run; any other
    failure costs that task and those that need it.
    """
    waiting = {task.key: task for task in tasks}
    known = set(waiting)
    not_before: dict[str, float] = {}
    running: dict[str, tuple[Task, Future]] = {}
    shown: dict[str, float] = {}
    done: set[str] = set()
    failures: list[Failure] = []
    while waiting or running:
        for key in list(waiting):
            task = waiting[key]
            ready = all(need in done or need not in known for need in task.needs)
            early = time.monotonic() < not_before.get(key, 0.0)
            if not ready or early or len(running) >= jobs:
                continue
            if not task.free():
                not_before[key] = time.monotonic() + retry_seconds
            else:
                running[key] = (waiting.pop(key), executor.submit(task.work, *task.arguments))
        for key, (task, future) in list(running.items()):
            if not future.done():
                _show(task, min(task.progress(), 0.99), shown, advance)
                continue
            del running[key]
            try:
                answer = future.result()
            except InputError:
                raise
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                failures.append(Failure(task, reason))
                note(f"failed: {task.label} ({reason.splitlines()[0]})")
                failures += _drop_dependents(key, waiting)
                continue
            if answer == BUSY:
                waiting[key] = task
                not_before[key] = time.monotonic() + retry_seconds
                continue
            done.add(key)
            _show(task, 1.0, shown, advance)
            note(f"done: {task.label}")
        time.sleep(POLL_SECONDS)
    return failures


def _show(
    task: Task, share: float, shown: dict[str, float], advance: Callable[[float], None]
) -> None:
    before = shown.get(task.key, 0.0)
    if share > before:
        advance((share - before) * task.seconds)
        shown[task.key] = share


def _drop_dependents(failed: str, waiting: dict[str, Task]) -> list[Failure]:
    dropped = []
    for key in [key for key, task in waiting.items() if failed in task.needs]:
        task = waiting.pop(key)
        dropped.append(Failure(task, "what it needs has failed"))
        dropped += _drop_dependents(key, waiting)
    return dropped

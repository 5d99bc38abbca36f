"""Fair timing on a noisy machine: candidates take turns, medians are compared."""

import gc
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sag_vicreg.machine import peak_bytes
from sag_vicreg.progress import progress_bar


@dataclass(frozen=True)
class Timing:
    """Seconds of each repetition of one candidate."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle repetition, which a passing disturbance does not move."""
        return statistics.median(self.seconds)


def take_turns(
    candidates: Mapping[str, Callable[[], Any]],
    *,
    repeats: int,
    warmup: int = 1,
    task: str = "timing",
) -> dict[str, Timing]:
    """Time every candidate ``repeats`` times, one after the other in each round.

    A slow minute on the machine then falls on all of them, not on one. ``task`` heads the
    progress bar.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    with progress_bar(task, total=(warmup + repeats) * len(candidates)) as advance:
        for turn in range(warmup + repeats):
            for name, run in candidates.items():
                gc.collect()
                start = time.perf_counter()
                run()
                elapsed = time.perf_counter() - start
                if turn >= warmup:
                    seconds[name].append(elapsed)
                advance(1)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def cpu_seconds(words: list[str]) -> float:
    """Run Python and return its CPU seconds, which on an idle machine are all there is to wait."""
    before = os.times()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def _measure(setup: Callable[[], Any], run: Callable[[Any], Any], connection: Any) -> None:
    state = setup()
    before = peak_bytes()
    start = time.perf_counter()
    run(state)
    elapsed = time.perf_counter() - start
    connection.send((peak_bytes() - before, elapsed))


def peak_memory(setup: Callable[[], Any], run: Callable[[Any], Any]) -> tuple[int, float]:
    """Extra peak memory in bytes, and seconds, of ``run(setup())`` in a process of its own.

    What ``setup`` needs is not counted. Both must be module-level functions: the process is
    spawned, so that it starts from nothing.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(setup, run, sending))
    process.start()
    sending.close()
    try:
        peak, elapsed = receiving.recv()
    except EOFError:
        raise RuntimeError("the measured process died; see its output above") from None
    finally:
        process.join()
    return peak, elapsed

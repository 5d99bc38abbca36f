"""Measurements that later claims rest on."""

import numpy as np

from benchmarks.timing import peak_memory, take_turns

MEGABYTE = 1_000_000


def nothing() -> None:
    return None


def touch_eighty_megabytes(_: None) -> None:
    np.ones(10 * MEGABYTE)


def test_peak_memory_is_that_of_the_measured_process_alone() -> None:
    """A parent that has been large must not hide what its child needs."""
    np.ones(50 * MEGABYTE)
    peak, seconds = peak_memory(nothing, touch_eighty_megabytes)
    assert 75 * MEGABYTE < peak < 100 * MEGABYTE
    assert seconds > 0


def test_candidates_take_turns() -> None:
    order: list[str] = []
    timings = take_turns(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=2, warmup=1
    )
    assert order == ["a", "b"] * 3
    assert len(timings["a"].seconds) == 2

"""Whether the gate keeps its promises: false alarms, and the time it takes.

Under a change whose true score lies exactly at the threshold, nothing should be decided: a 95
percent interval promises to pass or fail at most 5 percent of draws. Under a harmless change it
should fail none. A floor of exchangeable sets promises at most 1 / m or 2 / (m + 2) false alarms. A
share counts as kept within two deviations of a coin with the promised chance.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.coverage import Source, sources
from benchmarks.report import Report, Target
from sag_vicreg.artifacts import Embeddings
from sag_vicreg.decisions import Settings, calibrate, check_set, decide, gate
from sag_vicreg.progress import track
from sag_vicreg.structure import movements
from sag_vicreg.structure.corrected import corrected_similarity
from sag_vicreg.structure.damage import add_noise, quantise

Floats = npt.NDArray[np.float64]
T = TypeVar("T")

ITEMS, SETS = 200, 4
# Draws behind the true score, and noise that makes a change worth a threshold.
_TRUTH, _NOISE = 300, 0.5
_PROMISED = 0.05
_TURNS = 5
_CHECKED, _GROWN, _MOVED = "check of two files", "the gate's two forests", "what moved"


def run(*, repeats: int = 100, n: int = 10_000, dimensions: int = 384) -> Report:
    """Measure everything; ``repeats`` draws for each of three sources."""
    chosen = sources()[:3]
    settings = Settings(trees=40)
    rows, targets = [], []
    decided = harmless = 0
    for source in chosen:
        truth = _truth(source, settings)
        outcomes = [
            _at_threshold(source, truth, settings, draw)
            for draw in track(range(repeats), f"{source.name}, at the threshold")
        ]
        alarms = sum(
            _harmless(source, settings, draw) == "fail"
            for draw in track(range(repeats), f"{source.name}, harmless")
        )
        decided += repeats - outcomes.count("undecided")
        harmless += alarms
        rows.append(
            (
                f"tolerance, {source.name} (true score {truth:.3f})",
                f"failed {outcomes.count('fail')} of {repeats}",
                f"passed {outcomes.count('pass')} of {repeats}",
                f"harmless failed {alarms} of {repeats}",
            )
        )
    total = len(chosen) * repeats
    targets += [
        _kept("passed or failed at the threshold, share", decided, total, _PROMISED),
        Target("failed after int8, share", harmless / total, 0.0, at_least=False),
    ]
    for known, promised in ((True, 1 / SETS), (False, 2 / (SETS + 2))):
        rounds = 2 * repeats
        alarms = sum(_false_alarm(chosen[0], known, draw) for draw in range(rounds))
        which = "OLD in the floor" if known else "OLD is new"
        rows.append((f"floor of {SETS}, {which}", f"failed {alarms} of {rounds}", "", ""))
        targets.append(_kept(f"false alarms, {which}, share", alarms, rounds, promised))
    timed, promises = _times(n, dimensions)
    return Report(
        f"the gate: {ITEMS} items, {settings.trees} trees; times of {n:,} x {dimensions}",
        ("what", "", "", ""),
        rows + timed,
        targets + promises,
    )


def _kept(what: str, times: int, rounds: int, promised: float) -> Target:
    slack = 2 * (promised * (1 - promised) / rounds) ** 0.5
    return Target(what, times / rounds, promised + slack, at_least=False)


def _draw(source: Source, draw: int) -> Floats:
    return source.draw(ITEMS, np.random.default_rng([draw, 1]))


def _truth(source: Source, settings: Settings) -> float:
    """Return the mean score of a noisy copy over draws that serve nothing else."""
    scores = []
    for draw in track(range(_TRUTH), f"{source.name}, truth"):
        x = _draw(source, 10_000 + draw)
        noisy = add_noise(x, _NOISE, seed=10_000 + draw)
        scores.append(corrected_similarity(x, noisy, trees=settings.trees))
    return float(np.mean(scores))


def _at_threshold(source: Source, truth: float, settings: Settings, draw: int) -> str:
    x = _draw(source, draw)
    new = add_noise(x, _NOISE, seed=draw)
    return gate(x, new, tolerance=1 - truth, settings=settings).outcome


def _harmless(source: Source, settings: Settings, draw: int) -> str:
    x = _draw(source, draw)
    return gate(x, quantise(x, 8), settings=settings).outcome


def _false_alarm(source: Source, known: bool, draw: int) -> bool:
    """Draw unchanged sets, as seeds of one model would be, and ask whether NEW falls below."""
    x = _draw(source, draw)
    sets = [add_noise(x, _NOISE, seed=100 * draw + k) for k in range(SETS + 2)]
    floor = calibrate(sets[:SETS], settings=Settings(trees=8))
    old = sets[0] if known else sets[-2]
    return corrected_similarity(old, sets[-1], trees=8) < floor.limit(old).score


def _times(n: int, dimensions: int) -> tuple[list[tuple[str, ...]], list[Target]]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, dimensions))
    x = centres[rng.integers(30, size=n)] + rng.normal(size=(n, dimensions))
    y = quantise(x, 8)
    settings = Settings()
    turns = [_turn(x, y, settings) for _ in track(range(_TURNS), "times")]
    middle = {what: median(turn[what] for turn in turns) for what in turns[0]}
    rows: list[tuple[str, ...]] = [
        (what, f"{seconds:.1f} s of CPU", f"median of {_TURNS}", "")
        for what, seconds in middle.items()
    ]
    ratio = median(turn[_MOVED] / turn[_GROWN] for turn in turns)
    checked, whole = middle[_CHECKED], sum(middle.values()) - middle[_CHECKED]
    return rows, [
        Target("movements over the two forests, CPU", ratio, 0.5, at_least=False),
        Target("check, CPU seconds on two cores each", checked / 2, 30, at_least=False),
        Target("gate, CPU seconds on two cores each", whole / 2, 30, at_least=False),
    ]


def _turn(x: Floats, y: Floats, settings: Settings) -> dict[str, float]:
    """Return the seconds of CPU that each part of a gate takes, one after the other."""
    _, checked = _timed(lambda: [check_set(Embeddings(each), "x") for each in (x, y)])
    forests, grown = _timed(lambda: [settings.grow(each, "x") for each in (x, y)])
    _, decided = _timed(lambda: decide(forests[0], forests[1], settings=settings))
    _, moved = _timed(lambda: movements(forests[0], forests[1]))
    return {_CHECKED: checked, _GROWN: grown, "its score and interval": decided, _MOVED: moved}


def _timed(task: Callable[[], T]) -> tuple[T, float]:
    """Return what a task returns, and its seconds of CPU."""
    before = time.process_time()
    found = task()
    return found, time.process_time() - before

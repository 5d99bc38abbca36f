"""How often the interval of a forest similarity covers the truth, by simulation.

A *source* is a fixed hierarchy from which any number of items can be drawn; a *change* makes the
second set out of the first. The truth of a source, a change and a number of items is the mean
score over many other draws of as many items: what the interval promises to cover, the score "for
other items from the same source". Beside it stands the score of one large draw, since a score also
depends a little on how many items there are.

Two other intervals are measured on the same draws, both jackknives that leave out one of 20 groups
of items at a time: one keeps the trees and drops only pairs, the other builds all trees anew.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, Target
from sag_vicreg.progress import track
from sag_vicreg.structure import damage, forest_similarity, ward_forest
from sag_vicreg.structure.corrected import corrected_similarity
from sag_vicreg.structure.forest_tables import PairAverages, PairTables

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Interval = tuple[float, float]
Change = Callable[..., Floats]

DIMENSIONS = 16
SIZES = (100, 300)
LARGE = 1_000
GROUPS = 20
# The 97.5th percentile of Student's t with 19 degrees of freedom.
_T = 2.093
# The trees of one repetition in so many are built anew for the second jackknife.
REBUILT = 5


@dataclass(frozen=True, eq=False)
class Source:
    """A fixed hierarchy to draw items from.

    Attributes
    ----------
    centres : (k, d)
        Of the smallest clusters.
    shares : (k,)
        How likely an item is to come from each.
    spread : (d,)
        Standard deviation of items about their centre.
    """

    name: str
    centres: Floats
    shares: Floats
    spread: Floats

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw ``n`` items, independent of one another."""
        cluster = rng.choice(len(self.centres), size=n, p=self.shares)
        items: Floats = self.centres[cluster] + self.spread * rng.normal(size=(n, DIMENSIONS))
        return items


def sources() -> list[Source]:
    """Return the five kinds of hierarchies, always the same."""
    rng = np.random.default_rng(17)
    even = np.ones(DIMENSIONS)
    fading = 3.0 / np.arange(1, DIMENSIONS + 1)
    return [
        _source("12 clusters", _grow(rng, [(12, 2.0)]), even),
        _source("5 clusters of 5", _grow(rng, [(5, 2.0), (5, 1.0)]), even),
        _source("binary, 6 levels", _grow(rng, [(2, 1.5 * 0.85**k) for k in range(6)]), 0.5 * even),
        _source(
            "3 levels, uneven",
            _grow(rng, [(3, 1.5), (3, 1.2), (3, 0.9)]),
            0.6 * even,
            rng.exponential(size=27),
        ),
        _source("no clusters", np.zeros((1, DIMENSIONS)), fading),
    ]


def _source(name: str, centres: Floats, spread: Floats, weights: Floats | None = None) -> Source:
    weights = np.ones(len(centres)) if weights is None else weights
    return Source(name, centres, weights / weights.sum(), spread)


def _grow(rng: np.random.Generator, levels: Sequence[tuple[int, float]]) -> Floats:
    """Put so many children around each node, level by level, each so far away."""
    nodes = np.zeros((1, DIMENSIONS))
    for children, step in levels:
        nodes = np.repeat(nodes, children, axis=0)
        nodes = nodes + step * rng.normal(size=nodes.shape)
    return nodes


def changes() -> dict[str, Change]:
    """Return what makes the second set of the first, from hardly anything to everything."""
    squeeze = np.random.default_rng(18).normal(size=(DIMENSIONS, 4))
    return {
        "noise of 10 %": partial(damage.add_noise, share=0.1),
        "noise of 100 %": partial(damage.add_noise, share=1.0),
        "projection to 4": lambda x, seed: x @ squeeze,
        "a third of the rows shuffled": partial(damage.shuffle_rows, share=1 / 3),
        "all rows shuffled": partial(damage.shuffle_rows, share=1.0),
    }


@dataclass(frozen=True)
class Setting:
    """A source, a change and a number of items, with the truth about them."""

    source: Source
    name: str
    change: Change = field(repr=False)
    n: int
    index: int

    def draw(self, *key: int, n: int | None = None) -> tuple[Floats, Floats, int]:
        """Draw the two sets and a seed for their forests; equal keys draw the same."""
        rng = np.random.default_rng([self.index, *key])
        x = self.source.draw(n or self.n, rng)
        seed = int(rng.integers(2**31))
        return x, self.change(x, seed=seed), seed

    def truth(self, draws: int) -> float:
        """Average the score over ``draws`` draws that no interval is computed for."""
        scores = []
        for draw in range(draws):
            a, b, seed = self.draw(1, draw)
            scores.append(corrected_similarity(a, b, seed=seed))
        return float(np.mean(scores))

    def of_large(self) -> float:
        """Return the score of one large draw."""
        a, b, seed = self.draw(2, n=LARGE)
        return corrected_similarity(a, b, seed=seed)


@dataclass(frozen=True)
class Trial:
    """One draw: its intervals, and what they were to cover."""

    setting: Setting
    truth: float
    of_large: float
    intervals: dict[str, Interval]

    def covers(self, name: str, truth: float | None = None) -> bool:
        """Say whether an interval covers the truth, or another number."""
        low, high = self.intervals[name]
        return low <= (self.truth if truth is None else truth) <= high


PARTS, KEPT, ANEW = "parts", "jackknife, trees kept", "jackknife, trees anew"


def settings() -> list[Setting]:
    """Combine all sources, changes and sizes."""
    every = [(s, name, c, n) for s in sources() for name, c in changes().items() for n in SIZES]
    return [Setting(*each, index) for index, each in enumerate(every)]


def trials(
    every: Sequence[Setting], repetitions: int, draws: int, *, rebuilt: int = REBUILT
) -> Iterator[Trial]:
    """Draw so often in all, settings taking turns; of every ``rebuilt``-th build the trees anew."""
    truths: dict[int, tuple[float, float]] = {}
    for repetition in track(range(repetitions), "intervals"):
        round_, place = divmod(repetition, len(every))
        setting = every[place]
        if place not in truths:
            truths[place] = setting.truth(draws), setting.of_large() if rebuilt else math.nan
        anew = rebuilt > 0 and (round_ + place) % rebuilt == 0
        a, b, seed = setting.draw(0, round_)
        yield Trial(setting, *truths[place], _intervals(a, b, seed, anew=anew))


def _intervals(a: Floats, b: Floats, seed: int, *, anew: bool) -> dict[str, Interval]:
    forests = [ward_forest(x, seed=seed) for x in (a, b)]
    found = forest_similarity(*forests)
    averages = PairAverages(*forests)
    groups = np.array_split(np.random.default_rng(seed).permutation(len(a)), GROUPS)
    kept = [np.setdiff1d(np.arange(len(a)), group) for group in groups]
    intervals = {
        PARTS: found.interval,
        KEPT: _jackknife(found.spearman, _without_pairs(averages, kept)),
    }
    if anew:
        left = [corrected_similarity(a[rows], b[rows], seed=seed) for rows in kept]
        intervals[ANEW] = _jackknife(found.spearman, left)
    return intervals


def _without_pairs(averages: PairAverages, kept: Sequence[Ints]) -> list[float]:
    """Score the pairs of some items at a time, all trees as they are."""
    whole, bins = averages.square(averages.a.n), averages.bins()
    scores = []
    for items in kept:
        tables = PairTables(plain=False)
        tables.count(np.ascontiguousarray(whole[:, :, items[:, None], items]), 0, bins)
        scores.append(tables.corrected()[0])
    return scores


def _jackknife(score: float, left: Sequence[float]) -> Interval:
    error = math.sqrt((len(left) - 1) * float(np.var(left)))
    return score - _T * error, score + _T * error


def run(*, repetitions: int = 500, draws: int = 60) -> Report:
    """Simulate, and count how often each interval covers the truth.

    Parameters
    ----------
    repetitions
        Draws whose intervals are looked at, 50 settings taking turns.
    draws
        Other draws of each setting, whose mean score is the truth.
    """
    found = list(trials(settings(), repetitions, draws))
    rows = [_row("all", found)]
    rows += [_row(f"{n} items", [t for t in found if t.setting.n == n]) for n in SIZES]
    for source in sources():
        rows.append(_row(source.name, [t for t in found if t.setting.source.name == source.name]))
    for change in changes():
        rows.append(_row(change, [t for t in found if t.setting.name == change]))
    return Report(
        title=f"Intervals that cover the truth, of {repetitions}, in percent",
        columns=(
            "of",
            "draws",
            "interval",
            f"the score of {LARGE:,} items",
            KEPT,
            ANEW,
            "mean half width",
            "of trees anew",
        ),
        rows=[row for row in rows if row[1] != "0"],
        targets=[Target("intervals that cover the truth, percent", 100 * _share(found), 90)],
    )


def _share(found: Sequence[Trial], name: str = PARTS) -> float:
    held = [trial.covers(name) for trial in found if name in trial.intervals]
    return float(np.mean(held)) if held else math.nan


def _row(what: str, found: Sequence[Trial]) -> tuple[str, ...]:
    def width(name: str) -> str:
        halves = [np.ptp(t.intervals[name]) / 2 for t in found if ANEW in t.intervals]
        return f"{np.mean(halves):.3f}" if halves else ""

    large = [float(trial.covers(PARTS, trial.of_large)) for trial in found]
    shares = [_share(found), float(np.mean(large or [math.nan])), _share(found, KEPT)]
    return (
        what,
        str(len(found)),
        *(f"{100 * share:.1f}" for share in (*shares, _share(found, ANEW))),
        width(PARTS),
        width(ANEW),
    )

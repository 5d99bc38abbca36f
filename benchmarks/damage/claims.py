"""The declared claims, each held against the record."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.damage.measures import MEASURES
from benchmarks.damage.planted import HARMLESS, KINDS, NEW_POINTS, UNRELATED, WITH_TRUTH
from benchmarks.damage.record import Row
from benchmarks.damage.rule import rank_correlation

DATA = ("digits", "CIFAR-100", "drawn")
OTHERS = tuple(measure for measure in MEASURES if measure != "forest")
FINEST, COARSEST = "0.1 %", "50 %"


@dataclass(frozen=True)
class Claim:
    """What was declared, whether it held, and the numbers that say so."""

    key: str
    text: str
    held: bool
    found: str


def check(rows: Sequence[Row]) -> list[Claim]:
    """Hold every declared claim against the scores."""
    return [
        *_harmless(rows),
        *_unrelated(rows),
        *_orders(rows),
        *_truths(rows),
        *_scales(rows),
        _small_clusters(rows),
    ]


def select(
    rows: Iterable[Row], data: str | None = None, kind: str | None = None, level: str | None = None
) -> list[Row]:
    """Return the rows of some data, kind and level."""
    return [
        row
        for row in rows
        if data in (None, row.data) and kind in (None, row.kind) and level in (None, row.level)
    ]


def levels(rows: Iterable[Row], data: str, kind: str) -> list[str]:
    """Return the levels of a panel in the order of growing damage."""
    found = dict.fromkeys(row.level for row in select(rows, data, kind))
    return [level for level in found if (kind, level) not in HARMLESS[:2]]


def score(row: Row, measure: str) -> float:
    """Return a measure's score of a row; ``FINEST`` and the other scales are measures too."""
    if measure in row.scores:
        return row.scores[measure]
    assert row.scales is not None
    return row.scales[measure]


def mean(rows: Iterable[Row], measure: str) -> float:
    """Average a measure over rows."""
    return float(np.mean([score(row, measure) for row in rows]))


def order(rows: Sequence[Row], data: str, kind: str, measure: str) -> float:
    """Return the share of pairs of one seed that a measure puts in the order of their damage."""
    names = levels(rows, data, kind)
    points = 0.0
    pairs = 0
    panel = [row for row in select(rows, data, kind) if row.level in names]
    for one, other in combinations(panel, 2):
        if one.seed != other.seed:
            continue
        less, more = sorted((one, other), key=lambda row: names.index(row.level))
        gap = score(less, measure) - score(more, measure)
        points += 1.0 if gap > 0 else 0.5 if gap == 0 else 0.0
        pairs += 1
    return points / pairs


def departure(rows: Sequence[Row], data: str, measure: str) -> float:
    """Return the largest distance from 1 after harmless changes."""
    return max(
        abs(row.scores[measure] - 1)
        for kind, level in HARMLESS
        for row in select(rows, data, kind, level)
    )


def error(rows: Sequence[Row], measure: str, kinds: Sequence[str] = WITH_TRUTH) -> float:
    """Return the mean distance from the truth."""
    return float(
        np.mean(
            [
                abs(row.scores[measure] - row.truth)
                for row in rows
                if row.truth is not None and row.kind in kinds
            ]
        )
    )


def agreement(rows: Sequence[Row], measure: str) -> float:
    """Return the rank correlation of score and truth within a hierarchy, mean over hierarchies."""
    found = []
    for seed in sorted({row.seed for row in rows if row.truth is not None}):
        known = [row for row in rows if row.truth is not None and row.seed == seed]
        found.append(
            rank_correlation(
                np.array([row.scores[measure] for row in known]),
                np.array([row.truth for row in known]),
            )
        )
    return float(np.mean(found))


def _harmless(rows: Sequence[Row]) -> list[Claim]:
    found = {each: {data: departure(rows, data, each) for data in DATA} for each in MEASURES}
    rivals = ("single", "overlap")
    return [
        Claim(
            "A1",
            "harmless changes leave the forest within 0.01 of 1",
            all(found["forest"][data] <= 0.01 for data in DATA),
            "largest departures " + _by_data(found["forest"], 4),
        ),
        Claim(
            "A2",
            "its departure is smaller than the single tree's and the overlap's",
            all(found["forest"][data] < found[rival][data] for data in DATA for rival in rivals),
            "; ".join(f"{MEASURES[rival]} {_by_data(found[rival], 3)}" for rival in rivals),
        ),
    ]


def _unrelated(rows: Sequence[Row]) -> list[Claim]:
    worst = {
        data: max(abs(row.scores["forest"]) for row in select(rows, data, *UNRELATED))
        for data in DATA
    }
    means = {
        each: {data: abs(mean(select(rows, data, *UNRELATED), each)) for data in DATA}
        for each in ("forest", "cka")
    }
    return [
        Claim(
            "B1",
            "all rows shuffled: the forest is within 0.02 of 0",
            max(worst.values()) <= 0.02,
            "largest departures " + _by_data(worst, 4),
        ),
        Claim(
            "B2",
            "its mean there is nearer 0 than CKA's",
            all(means["forest"][data] < means["cka"][data] for data in DATA),
            f"forest {_by_data(means['forest'], 4)}; CKA {_by_data(means['cka'], 4)}",
        ),
    ]


def _orders(rows: Sequence[Row]) -> list[Claim]:
    panels = [(data, kind) for kind in KINDS[:7] for data in DATA]
    found = {panel: order(rows, *panel, "forest") for panel in panels}
    low = [f"{kind}, {data} {value:.2f}" for (data, kind), value in found.items() if value < 0.9]
    moved = [panel for panel in panels if panel[1] in NEW_POINTS]
    gains = [found[panel] - order(rows, *panel, "single") for panel in moved]
    higher, lower = (sum(sign * gain > 0 for gain in gains) for sign in (1, -1))
    return [
        Claim(
            "C1",
            "an order of at least 0.9 in 21 panels",
            not low,
            f"{len(panels) - len(low)} of {len(panels)}"
            + (f"; not {'; '.join(low)}" if low else ""),
        ),
        Claim(
            "C2",
            "order at least the single tree's in 12 panels, higher in 10",
            lower == 0 and higher >= 10,
            f"higher in {higher}, equal in {len(moved) - higher - lower}, lower in {lower}",
        ),
    ]


def _truths(rows: Sequence[Row]) -> list[Claim]:
    errors = {each: error(rows, each) for each in MEASURES}
    kinds = ("scattered clusters", "merged clusters", "tightened clusters")
    by_kind = {
        kind: {each: error(rows, each, (kind,)) for each in ("forest", "cka", "rsa")}
        for kind in kinds
    }
    ranks = {each: agreement(rows, each) for each in MEASURES}
    return [
        Claim(
            "D1",
            "the smallest error against the truth",
            all(errors["forest"] < errors[each] for each in OTHERS),
            _by_measure(errors),
        ),
        Claim(
            "D2",
            "error smaller than CKA's and RSA's for scattered, merged and tightened clusters",
            all(min(each["cka"], each["rsa"]) > each["forest"] for each in by_kind.values()),
            "; ".join(f"{kind.split()[0]}: {_by_measure(by_kind[kind])}" for kind in kinds),
        ),
        Claim(
            "D3",
            "the highest correlation of score and truth",
            all(ranks["forest"] > ranks[each] for each in OTHERS),
            _by_measure(ranks),
        ),
    ]


def _scales(rows: Sequence[Row]) -> list[Claim]:
    noisy = {data: select(rows, data, "noise", "50 %") for data in DATA}
    falls = {data: mean(noisy[data], COARSEST) - mean(noisy[data], FINEST) for data in DATA}
    orders = {data: order(rows, data, "small clusters", FINEST) for data in DATA}
    return [
        Claim(
            "E1",
            "noise of 50 %: agreement on the closest 0.1 % of pairs lower by 0.1 than on 50 %",
            min(falls.values()) >= 0.1,
            "lower by " + _by_data(falls, 2),
        ),
        Claim(
            "E2",
            "small clusters: agreement on the closest 0.1 % has an order of 0.9, below the score",
            min(orders.values()) >= 0.9
            and all(mean(panel, FINEST) < mean(panel, "forest") for panel in _small_panels(rows)),
            "order " + _by_data(orders, 2),
        ),
    ]


def _small_clusters(rows: Sequence[Row]) -> Claim:
    panels = _small_panels(rows)
    beaten = sum(mean(panel, "overlap") < mean(panel, "forest") for panel in panels)
    return Claim(
        "F",
        "small clusters: the overlap falls by more than the forest's score, which loses",
        beaten == len(panels),
        f"in {beaten} of {len(panels)} panels and levels",
    )


def _small_panels(rows: Sequence[Row]) -> list[list[Row]]:
    kind = "small clusters"
    return [select(rows, data, kind, level) for data in DATA for level in levels(rows, data, kind)]


def _by_data(values: dict[str, float], digits: int) -> str:
    return ", ".join(f"{values[data]:.{digits}f} ({data})" for data in DATA)


def _by_measure(values: dict[str, float]) -> str:
    return ", ".join(f"{MEASURES[each]} {value:.3f}" for each, value in values.items())

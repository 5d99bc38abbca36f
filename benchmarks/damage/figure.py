"""One figure: every kind of damage on every kind of data, five measures in each panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.damage.claims import DATA, levels, mean, score, select
from benchmarks.damage.measures import MEASURES
from benchmarks.damage.record import Row
from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "digits": "digits, PCA to 20",
    "CIFAR-100": "CIFAR-100 embeddings",
    "drawn": "drawn hierarchies",
}
# Tightened clusters leave all scores near 1: their numbers are in a table.
SHOWN = {
    "noise": "noise",
    "quantisation": "quantisation",
    "PCA truncation": "PCA\ntruncation\n(dims left)",
    "random projection": "random\nprojection\n(dims left)",
    "shuffled rows": "shuffled\nrows",
    "scattered clusters": "scattered\nclusters",
    "merged clusters": "merged\nclusters",
    "small clusters": "small clusters\n(rows in each)",
}
SCALES = ("0.1 %", "1 %", "10 %", "50 %")
_LIMITS = (-0.08, 1.08)
_TRUTH: Any = {"color": "black", "ls": (0, (2, 1.5)), "lw": 1.2}


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the panels to ``path``."""
    with new_figure(7.6, 12.4) as figure:
        axes = figure.subplots(len(SHOWN) + 1, len(DATA), sharey=True)
        for line, (kind, title) in zip(axes, SHOWN.items(), strict=False):
            for axis, data in zip(line, DATA, strict=True):
                _panel(axis, rows, data, kind)
            line[0].set_ylabel(title)
        for axis, data in zip(axes[-1], DATA, strict=True):
            _scales(axis, rows, data)
        axes[-1][0].set_ylabel("noise of 50 %,\nby scale")
        for axis, data in zip(axes[0], DATA, strict=True):
            axis.set_title(TITLES[data])
        _legend(figure, axes)
    save_figure(figure, path)


def _panel(axis: "Axes", rows: Sequence[Row], data: str, kind: str) -> None:
    names = levels(rows, data, kind)
    places = range(len(names))
    truths = [
        [row.truth for row in select(rows, data, kind, name) if row.truth is not None]
        for name in names
    ]
    for measure in reversed(MEASURES):
        _line(
            axis,
            measure,
            [[score(row, measure) for row in select(rows, data, kind, name)] for name in names],
        )
    if all(truths):
        axis.plot(places, [np.mean(each) for each in truths], **_TRUTH)
    _dress(axis, names)


def _scales(axis: "Axes", rows: Sequence[Row], data: str) -> None:
    found = select(rows, data, "noise", "50 %")
    _line(axis, "forest", [[score(row, each) for row in found] for each in SCALES])
    last = len(SCALES) - 1
    for measure, title, x, side in (
        ("overlap", "neighbour overlap", last, "right"),
        ("forest", "all pairs", 0, "left"),
    ):
        level = mean(found, measure)
        axis.axhline(level, color=_colour(measure), ls=":", lw=1.0)
        axis.annotate(
            title,
            (x, level),
            xytext=(0, -2),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=7,
            color=_colour(measure),
        )
    _dress(axis, SCALES)
    axis.set_xlabel("closest pairs")


def _line(axis: "Axes", measure: str, values: Sequence[Sequence[float]]) -> None:
    place = list(MEASURES).index(measure)
    main = measure == "forest"
    x = range(len(values))
    low, high = ([end(each) for each in values] for end in (min, max))
    axis.fill_between(x, low, high, color=_colour(measure), alpha=0.18, lw=0)
    axis.plot(
        x,
        [np.mean(each) for each in values],
        color=_colour(measure),
        marker=MARKERS[place],
        ms=4.5 if main else 3.5,
        lw=2.0 if main else 1.1,
        label=MEASURES[measure],
    )


def _colour(measure: str) -> str:
    return PALETTE[list(MEASURES).index(measure)]


def _dress(axis: "Axes", names: Sequence[str]) -> None:
    short = [name.removeprefix("to ").removeprefix("by ").removesuffix(" rows") for name in names]
    axis.set_xticks(range(len(names)), short)
    axis.tick_params(labelsize=7.5)
    axis.set_ylim(*_LIMITS)
    axis.set_yticks([0, 0.5, 1])
    axis.grid(axis="y", color="0.9", lw=0.6)
    axis.set_axisbelow(True)


def _legend(figure: "Figure", axes: "np.ndarray") -> None:
    from matplotlib.lines import Line2D

    handles = {line.get_label(): line for line in axes[0][0].get_lines()}
    shown = [handles[name] for name in MEASURES.values()]
    known = Line2D([], [], label="truth of the known tree", **_TRUTH)
    figure.legend(handles=[*shown, known], loc="outside upper center", ncols=6, fontsize=8.5)

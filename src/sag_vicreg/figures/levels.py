"""Scores over the levels of a hierarchy (figure 4a) and over numbers of clusters (figure 4b)."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sag_vicreg.figures.style import hatch, look, new_figure
from sag_vicreg.scores import Measure, Score

_GREY = "#777777"
_CHANCE = "chance (for accuracies, the largest class)"
# More numbers than this run into each other: matplotlib then chooses some.
MOST_TICKS = 12


@dataclass(frozen=True)
class Curve:
    """The scores of one model, a score per place."""

    name: str
    scores: Sequence[Score]


@dataclass(frozen=True)
class Panel:
    """Curves of one measure over the same places, with what chance gives where that is known."""

    measure: Measure
    title: str
    xlabel: str
    places: Sequence[int]
    curves: Sequence[Curve]
    chance: Sequence[float] | None = None
    ticks: Sequence[str] | None = None


def level_panel(
    measure: Measure,
    curves: Sequence[Curve],
    n_classes: Sequence[int],
    *,
    chance: Sequence[float] | None = None,
) -> Panel:
    """Lay scores out by level, 1 the coarsest, with the number of classes under each."""
    levels = range(1, len(n_classes) + 1)
    ticks = [f"{level}\n{count}" for level, count in zip(levels, n_classes, strict=True)]
    xlabel = "level, and its number of classes"
    return Panel(measure, measure.title, xlabel, levels, curves, chance, ticks)


def count_panel(
    measure: Measure,
    curves: Sequence[Curve],
    counts: Sequence[int],
    *,
    chance: Sequence[float] | None = None,
    levels: bool = True,
) -> Panel:
    """Lay scores of the finest level, where classes have several, out by number of clusters."""
    title = f"{measure.title}, finest level" if levels else f"{measure.title} by number of clusters"
    return Panel(measure, title, "number of clusters", counts, curves, chance)


def draw_panels(panels: Sequence[Panel]) -> Figure:
    """Draw panels side by side over one legend."""
    columns = math.ceil(math.sqrt(len(panels)))
    rows = -(-len(panels) // columns)
    with new_figure(3.6 * columns + 0.4, 3.2 * rows + 0.5) as figure:
        handles: dict[str, Any] = {}
        for place, panel in enumerate(panels, start=1):
            axes = figure.add_subplot(rows, columns, place)
            _draw(axes, panel)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if _CHANCE in handles:  # last
            handles[_CHANCE] = handles.pop(_CHANCE)
        if handles:
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower center",
                ncols=min(5, len(handles)),
            )
        caveats = dict.fromkeys(panel.measure.caveat for panel in panels)
        figure.suptitle(
            "\n".join(textwrap.fill(each, 38 * columns + 4) for each in caveats if each),
            fontsize="small",
            color=_GREY,
        )
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    if len(panel.places) == 1:
        _draw_bars(axes, panel)
        return
    factor = panel.measure.factor
    # Bars are set a little apart, or they would hide each other.
    gap = min((b - a for a, b in pairwise(sorted(panel.places))), default=1)
    for order, curve in enumerate(panel.curves):
        deviations = [factor * s.deviation for s in curve.scores if s.deviation is not None]
        barred = len(deviations) == len(curve.scores)
        shift = 0.08 * gap * (order - (len(panel.curves) - 1) / 2) if barred else 0.0
        color, marker = look(order)
        axes.errorbar(
            [place + shift for place in panel.places],
            [factor * score.mean for score in curve.scores],
            yerr=deviations if barred else None,
            color=color,
            marker=marker,
            capsize=2.5,
            label=curve.name,
        )
    if panel.chance is not None:
        axes.plot(
            panel.places,
            [factor * value for value in panel.chance],
            color=_GREY,
            linestyle="--",
            linewidth=1.0,
            label=_CHANCE,
        )
    if len(panel.places) <= MOST_TICKS:
        axes.set_xticks(panel.places, panel.ticks)
    axes.set(xlabel=panel.xlabel, ylabel=panel.measure.unit or None, title=panel.title)


def _draw_bars(axes: Axes, panel: Panel) -> None:
    """Draw the only score of each model as a bar: a curve over one place would be a dot.

    Bars lie, so that names and numbers of many models find room beside them.
    """
    factor, digits = panel.measure.factor, "%.1f" if panel.measure.unit else "%.3f"
    for order, curve in enumerate(panel.curves):
        (score,) = curve.scores
        bar = axes.barh(
            order,
            factor * score.mean,
            xerr=None if score.deviation is None else factor * score.deviation,
            color=look(order)[0],
            hatch=hatch(order),
            edgecolor="white",
            ecolor="black",
            capsize=2.5,
        )
        axes.bar_label(bar, fmt=digits, padding=2, fontsize=8)
    if panel.chance is not None:
        axes.axvline(
            factor * panel.chance[0], color=_GREY, linestyle="--", linewidth=1.0, label=_CHANCE
        )
    axes.set_yticks(
        range(len(panel.curves)),
        [textwrap.fill(curve.name, 18) for curve in panel.curves],
        fontsize=8,
    )
    axes.invert_yaxis()
    axes.margins(x=0.2, y=0.4 if len(panel.curves) == 1 else 0.05)
    axes.set(xlabel=panel.measure.unit or None, title=panel.title)

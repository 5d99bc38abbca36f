"""Scores over the levels of a hierarchy (figure 4a) and over numbers of clusters (figure 4b)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sag_vicreg.figures.style import MARKERS, PALETTE, figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY = "#777777"
RAND_RISES = "chance alone raises it with the number of clusters"
_CHANCE = "chance; of accuracies the largest class"
# More numbers than this run into each other: matplotlib then chooses some.
MOST_TICKS = 12


@dataclass(frozen=True)
class Curve:
    """The scores of one model: a value a place, and its deviation over seeds where known."""

    name: str
    values: Sequence[float]
    deviations: Sequence[float] | None = None


@dataclass(frozen=True)
class Panel:
    """Curves over the same places, with the score that chance gives where known."""

    title: str
    xlabel: str
    places: Sequence[int]
    curves: Sequence[Curve]
    chance: Sequence[float] | None = None
    ticks: Sequence[str] | None = None
    percent: bool = False
    note: str = ""


def level_panel(
    title: str,
    curves: Sequence[Curve],
    n_classes: Sequence[int],
    *,
    chance: Sequence[float] | None = None,
    percent: bool = False,
    note: str = "",
) -> Panel:
    """Lay scores out by level, 1 the coarsest, with the number of classes under each."""
    return Panel(
        title,
        xlabel="level, and its number of classes",
        places=range(1, len(n_classes) + 1),
        curves=curves,
        chance=chance,
        ticks=[f"{level}\n{count}" for level, count in enumerate(n_classes, start=1)],
        percent=percent,
        note=note,
    )


def count_panel(
    title: str,
    curves: Sequence[Curve],
    counts: Sequence[int],
    *,
    chance: Sequence[float] | None = None,
    note: str = "",
) -> Panel:
    """Lay scores out by number of clusters."""
    return Panel(title, "number of clusters", counts, curves, chance, note=note)


def draw_panels(panels: Sequence[Panel]) -> "Figure":
    """Draw panels side by side over one legend."""
    from matplotlib.figure import Figure

    columns = math.ceil(math.sqrt(len(panels)))
    rows = -(-len(panels) // columns)
    with figure_style():
        figure = Figure(figsize=(3.6 * columns + 0.4, 3.2 * rows + 0.5))
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw(axes, panel)
        for unused in grid[len(panels) :]:
            unused.set_axis_off()
        handles: dict[str, Any] = {}
        for axes in grid[: len(panels)]:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if _CHANCE in handles:  # last
            handles[_CHANCE] = handles.pop(_CHANCE)
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=min(5, len(handles)),
        )
    return figure


def _draw(axes: "Axes", panel: Panel) -> None:
    factor = 100.0 if panel.percent else 1.0
    # Bars are set a little apart, or they would hide each other.
    gap = min((b - a for a, b in pairwise(sorted(panel.places))), default=1)
    for order, curve in enumerate(panel.curves):
        barred = curve.deviations is not None
        shift = 0.08 * gap * (order - (len(panel.curves) - 1) / 2) if barred else 0.0
        axes.errorbar(
            [place + shift for place in panel.places],
            [factor * value for value in curve.values],
            yerr=None if curve.deviations is None else [factor * d for d in curve.deviations],
            color=PALETTE[order % len(PALETTE)],
            marker=MARKERS[order % len(MARKERS)],
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
    axes.set(xlabel=panel.xlabel, ylabel="percent" if panel.percent else None)
    axes.set_title(f"{panel.title}\n{panel.note}" if panel.note else panel.title)

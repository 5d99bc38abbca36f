"""Structure against bytes: what each way to store a set costs, and what it keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from matplotlib.figure import Figure

from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure


@dataclass(frozen=True)
class Stored:
    """One way to store a set: its group (colour), its family (marker), bytes, score, interval."""

    group: str
    family: str
    bytes: int
    score: float
    interval: tuple[float, float]
    chosen: bool = False


def draw_sweep(points: Sequence[Stored], *, threshold: float) -> Figure:
    """Draw each way with its interval over bytes per vector, and the gate's threshold.

    Groups share a colour and a line, families a marker; the chosen one is ringed and named.
    """
    with new_figure(6.4, 3.8) as figure:
        axis = figure.subplots()
        axis.axhline(threshold, color="#777777", linewidth=0.8, linestyle=(0, (4, 3)))
        groups = dict.fromkeys(point.group for point in points)
        families = dict.fromkeys(point.family for point in points)
        colors = dict(zip(groups, cycle(PALETTE), strict=False))
        markers = dict(zip(families, cycle(MARKERS), strict=False))
        for point in points:
            low, high = (abs(end - point.score) for end in point.interval)
            axis.errorbar(
                point.bytes,
                point.score,
                yerr=[[low], [high]],
                color=colors[point.group],
                marker=markers[point.family],
                linewidth=1.0,
            )
            if point.chosen:
                axis.scatter(
                    point.bytes, point.score, s=140, facecolors="none", edgecolors="black", zorder=3
                )
        for group, color in colors.items():
            axis.plot([], [], color=color, linewidth=3, label=group)
        for family, marker in markers.items():
            axis.plot([], [], color="#555555", marker=marker, linestyle="none", label=family)
        if any(point.chosen for point in points):
            axis.scatter(
                [], [], s=90, facecolors="none", edgecolors="black", label="cheapest that passes"
            )
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set(xlabel="bytes per vector", ylabel="forest similarity to the full set")
        axis.annotate(
            f"gate: {threshold:g}",
            (1, threshold),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="top",
            fontsize=7,
            color="#555555",
        )
        figure.legend(loc="outside right upper", fontsize=7)
    return figure

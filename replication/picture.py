"""Structure against k-NN: what a method gains above the curve that blurring alone draws."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sag_vicreg.figures.labels import place_labels
from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure

_REFERENCE_MARKERS = ("x", "+", "1", "2")
Place = tuple[float, float]
"""k-NN accuracy in percent, and a structure score."""
Named = Sequence[tuple[str, Place, Sequence[Place]]]
"""Label, place, and the places of single seeds."""


def draw_structure_against_knn(
    curves: Mapping[str, Named], methods: Mapping[str, Named], references: Named, *, ylabel: str
) -> Figure:
    """Draw curves with labelled points, methods as points, and references in grey.

    Parameters
    ----------
    curves
        Name to its points, drawn as a line in this order.
    methods
        Name to its points, which are compared with the curves. A dotted line leads from the first
        to those that follow, and only these are labelled.
    references
        Points that belong to no method, in grey.
    ylabel
        The structure score.
    """
    with new_figure(7.6, 4.2) as figure:
        axis = figure.subplots()
        named: dict[Place, str] = {}
        for order, (name, along) in enumerate(curves.items()):
            color = PALETTE[order]
            knn, scores = zip(*(place for _, place, _ in along), strict=True)
            axis.plot(knn, scores, color=color, marker="o", markersize=3, linewidth=1.2, label=name)
            for label, place, seeds in along:
                # Curves meet where nothing was changed: that place is named once.
                named.setdefault(place, label)
                _draw_seeds(axis, seeds, color)
        for order, (name, along) in enumerate(methods.items()):
            color = PALETTE[(order + len(curves)) % len(PALETTE)]
            marker = MARKERS[(order + 1) % len(MARKERS)]
            knn, scores = zip(*(place for _, place, _ in along), strict=True)
            axis.plot(knn, scores, color=color, linestyle=":", linewidth=1)
            axis.scatter(knn, scores, s=42, color=color, marker=marker, label=name, zorder=3)
            named |= {place: label for label, place, _ in along[1:]}
            for _, _, seeds in along:
                _draw_seeds(axis, seeds, color)
        for order, (label, place, _) in enumerate(references):
            marker = _REFERENCE_MARKERS[order % len(_REFERENCE_MARKERS)]
            axis.scatter(*place, s=36, color="#777777", marker=marker, label=label, zorder=3)
        axis.set(xlabel="k-NN accuracy, percent", ylabel=ylabel)
        figure.legend(loc="outside right upper", fontsize=7)
        if named:
            place_labels(axis, np.array(list(named)), list(named.values()))
    return figure


def _draw_seeds(axis: Axes, seeds: Sequence[Place], color: str) -> None:
    if len(seeds) > 1:
        knn, scores = zip(*seeds, strict=True)
        axis.scatter(knn, scores, s=8, color=color, alpha=0.45, linewidths=0)

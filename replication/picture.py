"""Structure against k-NN: what a method gains above the curve that blurring alone draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from sag_vicreg.figures.labels import place_labels
from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure

_REFERENCE_MARKERS = ("x", "+", "1", "2")
# Marker, size and colour of each group.
_GROUPS = (("s", 14, "#777777"), ("*", 50, "black"))
# Margin around the methods in the panel that is near, as a share of what they span on either axis,
# which is taken to be at least a point of k-NN and a hundredth of similarity.
_MARGIN, _LEAST_SPAN = 0.08, (1.0, 0.01)
Place = tuple[float, float]
"""k-NN accuracy in percent, and a structure score."""
Named = Sequence[tuple[str, Place, Sequence[Place]]]
"""Label, place, and the places of single seeds."""


@dataclass(frozen=True)
class Trail:
    """A method by length of training: a dotted line leads from the first place to the others.

    Methods of one ``style`` have one colour and marker, ``filled`` or hollow. The first place has
    no name, as the legend has it.
    """

    places: Named
    style: int
    filled: bool = True


def draw_structure_against_knn(
    curves: Mapping[str, Named],
    methods: Mapping[str, Trail],
    references: Named,
    *,
    groups: Mapping[str, Named] = MappingProxyType({}),
    ylabel: str,
) -> Figure:
    """Draw everything, and beside it the part with the methods from near.

    Parameters
    ----------
    curves
        Name to its points, drawn as a line in this order, each point labelled.
    methods
        Name to its places, which are compared with the curves.
    references
        Points that belong to no method, in grey.
    groups
        What is there to compare with, name to places, all of a group alike. A label may be empty.
    ylabel
        The structure score.
    """
    # Curves meet where nothing was changed: that place is named once.
    named: dict[Place, str] = {}
    for along in curves.values():
        for label, place, _ in along:
            named.setdefault(place, label)
    for trail in methods.values():
        (_, first, _), *longer = trail.places
        named.setdefault(first, "")  # without a name, but no other may cover it
        named |= {place: label for label, place, _ in longer}
    for group in groups.values():
        named |= {place: label for label, place, _ in group if label}
    box = _box_around([trail.places for trail in methods.values()], list(curves.values()))
    with new_figure(9.2, 5.2) as figure:
        whole, near = figure.subplots(1, 2)
        for axis in (whole, near):
            _draw(axis, curves, methods, references, groups)
            axis.set_xlabel("k-NN accuracy, percent")
        whole.set_ylabel(ylabel)
        figure.legend(
            *whole.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7
        )
        near.set(xlim=box.intervalx, ylim=box.intervaly)
        frame = Rectangle(box.p0, *box.size, fill=False, color="#777777", linewidth=0.6, zorder=0)
        whole.add_patch(frame)
        for axis, is_near in ((whole, False), (near, True)):
            shown = {
                place: name for place, name in named.items() if box.contains(*place) == is_near
            }
            if shown:
                place_labels(axis, np.array(list(shown)), list(shown.values()))
    return figure


def _box_around(trails: Sequence[Named], curves: Sequence[Named]) -> Bbox:
    """Hold the methods, and of the curves what is as accurate."""
    places = [place for along in trails for _, place, _ in along]
    least = min((knn for knn, _ in places), default=np.inf)
    places += [place for along in curves for _, place, _ in along if place[0] >= least]
    corners = np.array(places or [(0.0, 0.0)])  # before any method is finished, nothing is near
    low, high = corners.min(axis=0), corners.max(axis=0)
    margin = _MARGIN * np.maximum(high - low, _LEAST_SPAN)
    return Bbox([low - margin, high + margin])


def _draw(
    axis: Axes,
    curves: Mapping[str, Named],
    methods: Mapping[str, Trail],
    references: Named,
    groups: Mapping[str, Named],
) -> None:
    for order, (name, along) in enumerate(curves.items()):
        color = PALETTE[order]
        knn, scores = zip(*(place for _, place, _ in along), strict=True)
        axis.plot(knn, scores, color=color, marker="o", markersize=3, linewidth=1.2, label=name)
        _draw_seeds(axis, along, color)
    for name, trail in methods.items():
        color = PALETTE[(trail.style + len(curves)) % len(PALETTE)]
        marker = MARKERS[(trail.style + 1) % len(MARKERS)]
        knn, scores = zip(*(place for _, place, _ in trail.places), strict=True)
        axis.plot(knn, scores, color=color, linestyle=":", linewidth=1)
        axis.scatter(
            *(knn, scores),
            s=42,
            facecolor=color if trail.filled else "white",
            edgecolor=color,
            marker=marker,
            label=name,
            zorder=3,
        )
        _draw_seeds(axis, trail.places, color)
    for (name, group), (marker, size, color) in zip(groups.items(), cycle(_GROUPS), strict=False):
        knn, scores = zip(*(place for _, place, _ in group), strict=True)
        axis.scatter(knn, scores, s=size, color=color, marker=marker, label=name, zorder=2)
    for order, (label, place, _) in enumerate(references):
        marker = _REFERENCE_MARKERS[order % len(_REFERENCE_MARKERS)]
        axis.scatter(*place, s=36, color="#777777", marker=marker, label=label, zorder=3)


def _draw_seeds(axis: Axes, along: Named, color: str) -> None:
    for _, _, seeds in along:
        if len(seeds) > 1:
            knn, scores = zip(*seeds, strict=True)
            axis.scatter(knn, scores, s=8, color=color, alpha=0.45, linewidths=0)

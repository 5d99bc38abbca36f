"""Figure 6: class centroids of unseen classes in the plane, one panel a model."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.labels import place_labels
from sag_vicreg.figures.style import MARKERS, PALETTE, figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_centroids(
    panels: Mapping[str, NDArray[np.floating]],
    names: Sequence[str],
    *,
    groups: Mapping[str, Sequence[str]],
) -> "Figure":
    """Draw one scatter a model; classes of the named ``groups`` are coloured and written out.

    Parameters
    ----------
    panels
        Title to (n_classes, 2) coordinates.
    names
        (n_classes,) class names.
    groups
        Group title to the names of its classes; the rest stay small and grey.
    """
    from matplotlib.figure import Figure

    named = [name for members in groups.values() for name in members]
    rest = ~np.isin(names, named)
    index = {name: position for position, name in enumerate(names)}
    with figure_style():
        figure = Figure(figsize=(5.6 * len(panels), 5.4))
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, xy) in zip(axes, panels.items(), strict=True):
            axis.scatter(*xy[rest].T, s=9, color="#BBBBBB", label="other classes")
            for order, (group, members) in enumerate(groups.items()):
                rows = [index[name] for name in members]
                axis.scatter(
                    *xy[rows].T, s=42, color=PALETTE[order], marker=MARKERS[order], label=group
                )
            axis.set(title=title, xticks=[], yticks=[])
            axis.margins(0.12)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(groups) + 1)
        for axis, xy in zip(axes, panels.values(), strict=True):
            place_labels(axis, xy[[index[name] for name in named]], named)
    return figure

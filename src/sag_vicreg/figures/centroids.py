"""Figure 6: class centroids of unseen classes in the plane, one panel per model."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.figures.data import FigureData
from sag_vicreg.figures.labels import place_labels
from sag_vicreg.figures.style import look, new_figure

MOST_NAMED = 50
"""Classes whose names still find room beside their points."""


@dataclass(frozen=True)
class Centroids(FigureData):
    """Of each model a title and the place of every class; of each class its name and group.

    A class of no group (an empty text) stays small, grey and without its name; where no class has
    one, those of a dataset with few are named.
    """

    titles: Annotated[NDArray[np.str_], "U", "m"]
    places: Annotated[NDArray[np.floating], "f", "m c 2"]
    names: Annotated[NDArray[np.str_], "U", "c"]
    groups: Annotated[NDArray[np.str_], "U", "c"]

    def draw(self) -> Figure:
        """Draw one scatter per model; classes of a group are coloured and written out."""
        groups = list(dict.fromkeys(group for group in self.groups if group))
        members = {group: np.flatnonzero(self.groups == group) for group in groups}
        named = np.concatenate([np.empty(0, np.intp), *members.values()])
        if not groups and len(self.names) <= MOST_NAMED:
            named = np.arange(len(self.names))
        with new_figure(5.6 * len(self.titles), 5.4) as figure:
            axes = figure.subplots(1, len(self.titles), squeeze=False)[0]
            for axis, title, xy in zip(axes, self.titles, self.places, strict=True):
                rest = xy[self.groups == ""]
                if len(rest):
                    axis.scatter(*rest.T, s=9, color="#BBBBBB", label="other classes")
                for order, (group, rows) in enumerate(members.items()):
                    color, marker = look(order)
                    axis.scatter(*xy[rows].T, s=42, color=color, marker=marker, label=group)
                axis.set(title=title, xticks=[], yticks=[])
                axis.margins(0.12)
            handles, labels = axes[0].get_legend_handles_labels()
            if groups:
                figure.legend(
                    handles,
                    [label.replace("_", " ") for label in labels],
                    loc="outside lower center",
                    ncols=min(len(labels), 3 * len(self.titles)),
                )
            for axis, xy in zip(axes, self.places, strict=True):
                place_labels(axis, xy[named], self.names[named].tolist())
        return figure

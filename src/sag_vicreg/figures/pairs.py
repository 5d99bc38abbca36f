"""Figure 3: non-trivial pairs, where the random walk starts and where it ends."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.figures.data import FigureData
from sag_vicreg.figures.style import caption, new_figure, show_image


@dataclass(frozen=True)
class ImagePairs(FigureData):
    """Images where walks start and end, their classes, and the weight of each pair.

    Over the whole batch: how many of its ``rows`` walks ``left`` their image, how many of those
    ended in the same class (``same_class``), and for how many rows the own view was the nearest
    (``own_view_nearest``) or among the ``k`` nearest (``own_view_near``).
    """

    model: Annotated[str, "U", ""]
    starts: Annotated[NDArray[np.uint8], "u", "n h w 3"]
    ends: Annotated[NDArray[np.uint8], "u", "n h w 3"]
    start_classes: Annotated[NDArray[np.str_], "U", "n"]
    end_classes: Annotated[NDArray[np.str_], "U", "n"]
    weights: Annotated[NDArray[np.floating], "f", "n"]
    rows: Annotated[int, "i", ""]
    left: Annotated[int, "i", ""]
    same_class: Annotated[int, "i", ""]
    own_view_nearest: Annotated[int, "i", ""]
    own_view_near: Annotated[int, "i", ""]
    k: Annotated[int, "i", ""]

    @property
    def title(self) -> str:
        """What the walks of the whole batch did."""
        return (
            f"{self.model}: {self.left} of {self.rows} walks leave their image, "
            f"{self.same_class} of them to the same class;\n"
            f"own view nearest for {self.own_view_nearest}, "
            f"among the {self.k} nearest for {self.own_view_near} of {self.rows}"
        )

    def draw(self) -> Figure:
        """Draw one column per pair: start above, end below, the pair's weight between them."""
        n = len(self.starts)
        with new_figure(max(1.3 * n, 4.0), 3.8) as figure:
            figure.suptitle(self.title, fontsize=9)
            axes = figure.subplots(2, n, squeeze=False)
            for column in range(n):
                above, below = axes[:, column]
                show_image(above, self.starts[column], f"↓ w = {self.weights[column]:.2f}")
                show_image(below, self.ends[column], caption(self.end_classes[column]))
                above.set_title(caption(self.start_classes[column]), fontsize=8)
            axes[0, 0].set_ylabel("walk starts")
            axes[1, 0].set_ylabel("walk ends")
        return figure

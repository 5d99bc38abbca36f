"""Figure 2: a query image and its nearest images under each model, cosines shown."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.figures.data import FigureData
from sag_vicreg.figures.style import PALETTE, caption, new_figure, show_image


@dataclass(frozen=True)
class Query(FigureData):
    """The query and its class; of each model the nearest images, their classes and cosines."""

    image: Annotated[NDArray[np.uint8], "u", "h w 3"]
    name: Annotated[str, "U", ""]
    models: Annotated[NDArray[np.str_], "U", "m"]
    nearest: Annotated[NDArray[np.uint8], "u", "m k h w 3"]
    classes: Annotated[NDArray[np.str_], "U", "m k"]
    cosines: Annotated[NDArray[np.floating], "f", "m k"]

    def draw(self) -> Figure:
        """Draw the query at the left and one row of ranked images per model.

        A neighbour of the query's own class has a blue frame, any other an orange one and a cross
        before its name, so that the figure also reads in grey.
        """
        n_models, width = self.classes.shape
        lines = max(caption(name).count("\n") for name in [self.name, *self.classes.flat])
        with new_figure(1.25 * (width + 1.4), (2.0 + 0.15 * lines) * n_models) as figure:
            grid = figure.add_gridspec(n_models, width + 1, width_ratios=[1.3] + [1.0] * width)
            show_image(figure.add_subplot(grid[:, 0]), self.image, f"query: {caption(self.name)}")
            for (row, rank), name in np.ndenumerate(self.classes):
                mark, frame = ("", PALETTE[0]) if name == self.name else ("✗ ", PALETTE[1])
                axis = figure.add_subplot(grid[row, rank + 1])
                text = f"cosine {self.cosines[row, rank]:.2f}\n{caption(mark + name)}"
                show_image(axis, self.nearest[row, rank], text)
                axis.spines[:].set(visible=True, linewidth=3, edgecolor=frame)
                if rank == 0:
                    axis.set_title(str(self.models[row]), loc="left")
        return figure

"""Figure 3: non-trivial pairs, where the random walk starts and where it ends."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import caption, figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_pairs(
    starts: Sequence[NDArray[np.uint8]],
    ends: Sequence[NDArray[np.uint8]],
    *,
    start_classes: Sequence[str],
    end_classes: Sequence[str],
    weights: Sequence[float],
    title: str,
) -> "Figure":
    """Draw one column a pair: the start above, the end below, the pair's weight between them."""
    from matplotlib.figure import Figure

    with figure_style():
        figure = Figure(figsize=(max(1.3 * len(starts), 4.0), 3.8))
        figure.suptitle(title, fontsize=9)
        axes = figure.subplots(2, len(starts), squeeze=False)
        for column in range(len(starts)):
            above, below = axes[:, column]
            above.imshow(starts[column], interpolation="nearest")
            below.imshow(ends[column], interpolation="nearest")
            above.set_title(caption(start_classes[column]), fontsize=8)
            above.set_xlabel(f"↓ w = {weights[column]:.2f}", fontsize=8)
            below.set_xlabel(caption(end_classes[column]), fontsize=8)
            for axis in (above, below):
                axis.set(xticks=[], yticks=[])
                for spine in axis.spines.values():
                    spine.set_visible(False)
        axes[0, 0].set_ylabel("walk starts")
        axes[1, 0].set_ylabel("walk ends")
    return figure

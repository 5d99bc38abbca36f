"""What a masked autoencoder was shown, what it painted, and what was there."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.figures.style import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = ("masked", "reconstruction", "original")


def draw_reconstructions(
    masked: NDArray[np.uint8], reconstructions: NDArray[np.uint8], originals: NDArray[np.uint8]
) -> "Figure":
    """Draw one column an image: masked, reconstructed, original; each ``(n, h, w, 3)``, uint8."""
    from matplotlib.figure import Figure

    n = len(originals)
    with figure_style():
        figure = Figure(figsize=(0.5 + 0.9 * n, 2.9))
        panels = figure.subplots(3, n, squeeze=False, gridspec_kw={"wspace": 0.05, "hspace": 0.05})
        for row, (name, pictures) in enumerate(
            zip(_ROWS, (masked, reconstructions, originals), strict=True)
        ):
            for column, picture in enumerate(pictures):
                panel = panels[row, column]
                panel.imshow(picture, interpolation="nearest")
                panel.set_xticks([])
                panel.set_yticks([])
                panel.spines[:].set_visible(False)
            panels[row, 0].set_ylabel(name)
    return figure

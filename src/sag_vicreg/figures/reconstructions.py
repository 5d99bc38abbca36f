"""What a masked autoencoder was shown, what it painted, and what was there."""

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sag_vicreg.figures.data import FigureData
from sag_vicreg.figures.style import new_figure, show_image

_Pictures = Annotated[NDArray[np.uint8], "u", "n h w 3"]


@dataclass(frozen=True)
class Reconstructions(FigureData):
    """Pictures with patches masked, with those painted, and as they are."""

    masked: _Pictures
    reconstruction: _Pictures
    original: _Pictures

    def draw(self) -> Figure:
        """Draw one column per image: masked, reconstructed, original."""
        n = len(self.original)
        with new_figure(0.5 + 0.9 * n, 2.9) as figure:
            panels = figure.subplots(
                3, n, squeeze=False, gridspec_kw={"wspace": 0.05, "hspace": 0.05}
            )
            for row, name in zip(panels, (field.name for field in fields(self)), strict=True):
                for panel, picture in zip(row, getattr(self, name), strict=True):
                    show_image(panel, picture)
                row[0].set_ylabel(name)
        return figure

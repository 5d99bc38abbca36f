"""MAE's reconstructions: three rows, one column an image."""

from pathlib import Path

import numpy as np

from sag_vicreg.figures.reconstructions import Reconstructions
from sag_vicreg.figures.style import save_figure


def test_three_rows_of_pictures_are_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 256, (5, 16, 16, 3), dtype=np.uint8) for _ in range(3)]
    figure = Reconstructions(*rows).draw()
    assert len(figure.axes) == 15
    shown = figure.axes[6].get_images()[0].get_array()
    np.testing.assert_array_equal(shown, rows[1][1])
    assert [figure.axes[i].get_ylabel() for i in (0, 5, 10)] == [
        "masked",
        "reconstruction",
        "original",
    ]
    save_figure(figure, tmp_path / "mae.png")
    assert (tmp_path / "mae.png").stat().st_size > 5000

"""Figure 1's drawing: four panels, shared axes, one legend entry a cluster."""

from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.figures.style import save_figure
from sag_vicreg.figures.unseen_cluster import UnseenCluster


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_four_panels_are_drawn(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    train, test = np.repeat(np.arange(3), 5), np.repeat(np.arange(4), 5)
    figure = UnseenCluster(
        train_points=rng.normal(size=(15, 2)),
        train_clusters=train,
        test_points=rng.normal(size=(20, 2)),
        test_clusters=test,
        train_embedding=rng.normal(size=(15, 2)),
        test_embedding=10 * rng.normal(size=(20, 2)),
    ).draw()
    assert [len(panel.collections) for panel in figure.axes] == [3, 4, 3, 4]
    assert figure.axes[2].get_xlim() == figure.axes[3].get_xlim()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["cluster 1", "cluster 2", "cluster 3", "new cluster"]
    save_figure(figure, tmp_path / f"figure.{suffix}")
    assert (tmp_path / f"figure.{suffix}").stat().st_size > 5000

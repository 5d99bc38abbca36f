"""Figures 2, 3, 5 and 6: every image, caption and label is on the canvas."""

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from sag_vicreg.errors import InputError
from sag_vicreg.figures.centroids import draw_centroids
from sag_vicreg.figures.pairs import draw_pairs
from sag_vicreg.figures.query import Ranked, draw_query
from sag_vicreg.figures.separability import draw_separability
from sag_vicreg.figures.style import save_figure
from sag_vicreg.figures.trend import draw_trend

RNG = np.random.default_rng(0)


def some_images(count: int) -> list[np.ndarray]:
    return list(RNG.integers(0, 255, size=(count, 8, 8, 3), dtype=np.uint8))


def test_query_shows_every_neighbour_with_its_class_and_cosine() -> None:
    rows = [
        Ranked(
            "VICReg",
            some_images(3),
            ["shelf", "ostrich", "large_natural_outdoor_scene"],
            [0.91, 0.83, 0.5],
        ),
        Ranked("SAG-VICReg", some_images(3), ["ostrich"] * 3, [0.97, 0.96, 0.95]),
    ]
    figure = draw_query(some_images(1)[0], "ostrich", rows)
    axes = figure.axes
    assert sum(len(axis.images) for axis in axes) == 7
    captions = [axis.get_xlabel() for axis in axes]
    assert captions[0] == "query: ostrich"
    assert captions[3] == "0.50\n✗ large\nnatural\noutdoor scene"
    assert captions[1:3] == ["0.91\n✗ shelf", "0.83\nostrich"]
    assert [axis.get_title(loc="left") for axis in axes if axis.get_title(loc="left")] == [
        "VICReg",
        "SAG-VICReg",
    ]


def test_pairs_show_start_above_end() -> None:
    starts, ends = some_images(4), some_images(4)
    figure = draw_pairs(
        starts,
        ends,
        start_classes=list("abcd"),
        end_classes=list("efgh"),
        weights=[1, 0.5, 0.25, 0],
        title="4 of 5 walks leave their image",
    )
    assert figure.get_suptitle() == "4 of 5 walks leave their image"
    assert len(figure.axes) == 8
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), starts[0])
    np.testing.assert_array_equal(figure.axes[4].images[0].get_array(), ends[0])
    assert [axis.get_title() for axis in figure.axes[:4]] == list("abcd")
    assert [axis.get_xlabel() for axis in figure.axes[4:]] == list("efgh")
    assert figure.axes[1].get_xlabel() == "↓ w = 0.50"


def test_separability_numbers_every_sample_and_draws_every_merge() -> None:
    points = [RNG.normal(size=(10, 2)) for _ in range(3)]
    labels = np.repeat([0, 1], 5)
    figure = draw_separability(
        points, [linkage(p, "ward") for p in points], labels, titles=["a", "b", "c"]
    )
    above, below = figure.axes[:3], figure.axes[3:]
    for axis in above:
        assert [text.get_text() for text in axis.texts] == [str(i) for i in range(10)]
        assert len(axis.collections) == 2
    for axis in below:
        assert sorted(int(t.get_text()) for t in axis.get_xticklabels()) == list(range(10))
        # One bracket a merge.
        assert sum(len(c.get_paths()) for c in axis.collections) == 9
    assert [axis.get_title() for axis in above] == ["a", "b", "c"]


def test_centroids_name_the_groups_and_leave_the_rest_grey() -> None:
    names = [f"class {i}" for i in range(12)]
    panels = {"VICReg": RNG.normal(size=(12, 2)), "SAG-VICReg": RNG.normal(size=(12, 2))}
    figure = draw_centroids(
        panels, names, groups={"sea": ["class 1", "class 2"], "people": ["class 7"]}
    )
    for axis in figure.axes:
        assert [text.get_text() for text in axis.texts] == ["class 1", "class 2", "class 7"]
        assert [len(c.get_offsets()) for c in axis.collections] == [9, 2, 1]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["other classes", "sea", "people"]


def test_a_figure_is_saved_whole_or_refused(tmp_path: Path) -> None:
    panels = {"VICReg": RNG.normal(size=(3, 2))}
    figure = draw_centroids(panels, ["a", "b", "c"], groups={"g": ["a"]})
    for suffix in (".png", ".svg", ".pdf"):
        save_figure(figure, tmp_path / f"figure{suffix}")
        assert (tmp_path / f"figure{suffix}").stat().st_size > 1000
    with pytest.raises(InputError, match="must end in"):
        save_figure(figure, tmp_path / "figure.gif")


def test_trend_has_a_line_a_score_and_a_point_a_seed() -> None:
    differences = {
        "LCA Pearson": {1000: [0.1, 0.2], 3000: [0.3]},
        "cophenetic D1 to P2": {1000: [-0.1, 0.0], 3000: []},
    }
    (axis,) = draw_trend(differences, ylabel="SAG-VICReg minus VICReg").axes
    lines = [line for line in axis.lines if not line.get_label().startswith("_")]
    assert [list(line.get_ydata()) for line in lines] == [
        pytest.approx([0.15, 0.3]),
        pytest.approx([-0.05]),
    ]
    assert sum(len(points.get_offsets()) for points in axis.collections) == 5
    ticks = [tick.get_text() for tick in axis.get_xticklabels()]
    assert ticks == ["1,000\n2 seeds", "3,000\n1 seed"]
    (axis,) = draw_trend({"LCA Pearson": {1000: [0.1], 3000: []}}, ylabel="difference").axes
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["1,000", "3,000"]

"""Figures 2, 3, 5 and 6: every image, caption and label is on the canvas."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from replication.trend_figure import draw_trend
from sag_vicreg.errors import InputError
from sag_vicreg.figures.centroids import Centroids
from sag_vicreg.figures.levels import Curve, draw_panels, level_panel
from sag_vicreg.figures.pairs import ImagePairs
from sag_vicreg.figures.query import Query
from sag_vicreg.figures.separability import separability
from sag_vicreg.figures.style import look, save_figure
from sag_vicreg.scores import MEASURES, Score

RNG = np.random.default_rng(0)


def some_images(*count: int) -> np.ndarray:
    return RNG.integers(0, 255, size=(*count, 8, 8, 3), dtype=np.uint8)


def some_centroids() -> Centroids:
    names = np.array([f"class {i}" for i in range(12)])
    groups = np.full(12, "people")
    groups[:] = ""
    groups[[1, 2]], groups[7] = "sea", "people"
    return Centroids(np.array(["VICReg", "SAG-VICReg"]), RNG.normal(size=(2, 12, 2)), names, groups)


def some_pairs() -> ImagePairs:
    return ImagePairs(
        "SAG-VICReg",
        some_images(4),
        some_images(4),
        np.array(list("abcd")),
        np.array(list("efgh")),
        np.array([1, 0.5, 0.25, 0]),
        rows=5,
        left=4,
        same_class=2,
        own_view_nearest=1,
        own_view_near=3,
        k=5,
    )


def test_query_shows_every_neighbour_with_its_class_and_cosine() -> None:
    classes = [["shelf", "ostrich", "large_natural_outdoor_scene"], ["ostrich"] * 3]
    figure = Query(
        some_images(1)[0],
        "ostrich",
        np.array(["VICReg", "SAG-VICReg"]),
        some_images(2, 3),
        np.array(classes),
        np.array([[0.91, 0.83, 0.5], [0.97, 0.96, 0.95]]),
    ).draw()
    axes = figure.axes
    assert sum(len(axis.images) for axis in axes) == 7
    captions = [axis.get_xlabel() for axis in axes]
    assert captions[0] == "query: ostrich"
    assert captions[3] == "cosine 0.50\n✗ large\nnatural\noutdoor scene"
    assert captions[1:3] == ["cosine 0.91\n✗ shelf", "cosine 0.83\nostrich"]
    assert [axis.get_title(loc="left") for axis in axes if axis.get_title(loc="left")] == [
        "VICReg",
        "SAG-VICReg",
    ]


def test_pairs_show_start_above_end() -> None:
    pairs = some_pairs()
    figure = pairs.draw()
    assert figure.get_suptitle().startswith("SAG-VICReg: 4 of 5 walks leave their image, 2 of them")
    assert len(figure.axes) == 8
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), pairs.starts[0])
    np.testing.assert_array_equal(figure.axes[4].images[0].get_array(), pairs.ends[0])
    assert [axis.get_title() for axis in figure.axes[:4]] == list("abcd")
    assert [axis.get_xlabel() for axis in figure.axes[4:]] == list("efgh")
    assert figure.axes[1].get_xlabel() == "↓ w = 0.50"


def test_separability_numbers_every_sample_and_draws_every_merge() -> None:
    figure = separability(per_group=4).draw()
    above, below = figure.axes[:3], figure.axes[3:]
    for axis in above:
        assert [text.get_text() for text in axis.texts] == [str(i) for i in range(16)]
        assert len(axis.collections) == 2
    for axis in below:
        assert sorted(int(t.get_text()) for t in axis.get_xticklabels()) == list(range(16))
        # One bracket a merge.
        assert sum(len(c.get_paths()) for c in axis.collections) == 15
    first, second, _ = (axis.get_title() for axis in above)
    assert re.fullmatch(r"original\nlinear accuracy 0\.\d\d", first)
    assert "\nLCA Spearman " in second


def test_centroids_name_the_groups_and_leave_the_rest_grey() -> None:
    figure = some_centroids().draw()
    for axis in figure.axes:
        assert [text.get_text() for text in axis.texts] == ["class 1", "class 2", "class 7"]
        assert [len(c.get_offsets()) for c in axis.collections] == [9, 2, 1]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["other classes", "sea", "people"]


def test_centroids_without_groups_are_all_grey_and_named_where_there_is_room() -> None:
    plain = some_centroids()
    figure = replace(plain, groups=np.full(12, "")).draw()
    assert [len(c.get_offsets()) for c in figure.axes[0].collections] == [12]
    assert [text.get_text() for text in figure.axes[0].texts] == plain.names.tolist()
    assert figure.legends == []
    many = np.array([f"class {i}" for i in range(60)])
    places = RNG.normal(size=(1, 60, 2))
    crowd = Centroids(np.array(["VICReg"]), places, many, np.full(60, "")).draw()
    assert not crowd.axes[0].texts


def test_a_figure_is_saved_whole_or_refused(tmp_path: Path) -> None:
    figure = some_centroids().draw()
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


def test_more_groups_than_colours_differ_by_marker() -> None:
    looks = [look(order) for order in range(64)]
    assert len(set(looks)) == 64
    assert len({color for color, _ in looks[:8]}) == 8
    groups = np.array([f"group_{i}" for i in range(12)])
    names = np.array([f"class {i}" for i in range(12)])
    figure = Centroids(np.array(["VICReg"]), RNG.normal(size=(1, 12, 2)), names, groups).draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [f"group {i}" for i in range(12)]


def test_scores_at_one_place_are_bars() -> None:
    panel = level_panel(
        MEASURES["knn"],
        [Curve("VICReg", [Score(0.5)]), Curve("SAG-VICReg", [Score(0.75)])],
        [10],
        chance=[0.1],
    )
    (axes,) = draw_panels([panel]).axes
    assert [bar.get_width() for bar in axes.patches] == [50.0, 75.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["VICReg", "SAG-VICReg"]
    assert len(axes.lines) == 1


def test_more_bars_than_colours_differ_by_hatching() -> None:
    curves = [Curve(f"model {i}", [Score(0.5)]) for i in range(20)]
    (axes,) = draw_panels([level_panel(MEASURES["knn"], curves, [10])]).axes
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in axes.patches}
    assert len(looks) == 20

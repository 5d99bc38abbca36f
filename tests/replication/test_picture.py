"""Structure against k-NN: every curve, method and reference is in the picture, once a panel."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from replication.picture import Trail, draw_structure_against_knn


def texts(axis: Axes) -> list[str]:
    return [name for text in axis.texts if (name := text.get_text())]


def places(axis: Axes) -> Sequence[list[list[float]]]:
    return [scatter.get_offsets().tolist() for scatter in axis.collections]  # type: ignore[union-attr]


def test_everything_is_drawn_and_named() -> None:
    curves = {
        "by steps": [("300", (10.0, 0.9), [(9.0, 0.9), (11.0, 0.9)]), ("1,000", (20.0, 0.77), ())],
        "by components": [("4", (12.0, 0.8), ()), ("all", (20.0, 0.77), ())],
    }
    figure = draw_structure_against_knn(
        curves,
        {
            "ours": Trail(
                [
                    ("1,000", (19.0, 0.8), [(18.0, 0.8), (20.0, 0.8)]),
                    ("3,000", (22.0, 0.75), ()),
                ],
                style=0,
            ),
            "ours, hollow": Trail([("1,000", (21.0, 0.79), ())], style=0, filled=False),
        },
        [("mean colour", (3.0, 1.0), ())],
        groups={
            "other readings, rejected": [("", (12.0, 0.7), ()), ("", (13.0, 0.7), ())],
            "by label": [("", (19.5, 0.79), ()), ("5,000", (21.5, 0.76), ())],
        },
        ylabel="forest similarity",
    )
    whole, near = figure.axes
    for axis in (whole, near):
        assert [line.get_xydata().tolist() for line in axis.lines] == [  # type: ignore[union-attr]
            [[10.0, 0.9], [20.0, 0.77]],
            [[12.0, 0.8], [20.0, 0.77]],
            [[19.0, 0.8], [22.0, 0.75]],
            [[21.0, 0.79]],
        ]
        assert [[9.0, 0.9], [11.0, 0.9]] in places(axis)
        assert [[19.0, 0.8], [22.0, 0.75]] in places(axis)
        assert [[3.0, 1.0]] in places(axis)
        assert [[12.0, 0.7], [13.0, 0.7]] in places(axis)
        assert [[19.5, 0.79], [21.5, 0.76]] in places(axis)
        filled, hollow = (
            drawn for drawn in axis.collections if drawn.get_label() in ("ours", "ours, hollow")
        )
        assert (filled.get_edgecolor() == hollow.get_edgecolor()).all()
        assert (filled.get_facecolor() != hollow.get_facecolor()).any()
    # The place where both curves meet is named once; a method only where it was trained longer.
    assert texts(whole) == ["300", "4"]
    assert texts(near) == ["1,000", "3,000", "5,000"]
    # The methods' part of the whole, framed there, is what the other panel shows.
    (frame,) = whole.patches
    assert near.get_xlim() == (frame.get_x(), frame.get_x() + frame.get_width())  # type: ignore[attr-defined]
    assert near.get_xlim()[0] < 19 < 22 < near.get_xlim()[1] < 23
    assert 0.74 < near.get_ylim()[0] < 0.75 < 0.8 < near.get_ylim()[1]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *("by steps", "by components", "ours", "ours, hollow", "other readings, rejected"),
        *("by label", "mean colour"),
    ]


def test_without_curves_there_are_points_alone() -> None:
    figure = draw_structure_against_knn(
        {}, {"ours": Trail([("1", (19.0, 0.8), ())], style=0)}, [], ylabel="y"
    )
    for axis in figure.axes:
        assert not texts(axis)
        assert places(axis) == [[[19.0, 0.8]]]


def test_before_any_result_the_picture_is_empty() -> None:
    figure = draw_structure_against_knn({}, {}, [("mean colour", (3.0, 1.0), ())], ylabel="y")
    assert [places(axis) for axis in figure.axes] == [[[[3.0, 1.0]]]] * 2

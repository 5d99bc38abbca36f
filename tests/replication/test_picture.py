"""Structure against k-NN: every curve, method and reference is in the picture, once."""

from replication.picture import draw_structure_against_knn


def test_everything_is_drawn_and_named() -> None:
    curves = {
        "by steps": [("300", (10.0, 0.9), [(9.0, 0.9), (11.0, 0.9)]), ("1,000", (20.0, 0.7), ())],
        "by components": [("4", (12.0, 0.8), ()), ("all", (20.0, 0.7), ())],
    }
    figure = draw_structure_against_knn(
        curves,
        {
            "ours": [
                ("1,000", (19.0, 0.8), [(18.0, 0.8), (20.0, 0.8)]),
                ("3,000", (22.0, 0.75), ()),
            ]
        },
        [("mean colour", (3.0, 1.0), ())],
        ylabel="forest similarity",
    )
    (axis,) = figure.axes
    assert [line.get_xydata().tolist() for line in axis.lines] == [  # type: ignore[union-attr]
        [[10.0, 0.9], [20.0, 0.7]],
        [[12.0, 0.8], [20.0, 0.7]],
        [[19.0, 0.8], [22.0, 0.75]],
    ]
    # The place where both curves meet is named once; a method only where it was trained longer.
    assert [text.get_text() for text in axis.texts] == ["300", "1,000", "4", "3,000"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *("by steps", "by components", "ours", "mean colour"),
    ]
    places = [scatter.get_offsets().tolist() for scatter in axis.collections]
    assert [[9.0, 0.9], [11.0, 0.9]] in places
    assert [[19.0, 0.8], [22.0, 0.75]] in places
    assert [[3.0, 1.0]] in places


def test_without_curves_there_are_points_alone() -> None:
    figure = draw_structure_against_knn({}, {"ours": [("1", (19.0, 0.8), ())]}, [], ylabel="y")
    (axis,) = figure.axes
    assert not axis.texts
    assert [points.get_offsets().tolist() for points in axis.collections] == [[[19.0, 0.8]]]

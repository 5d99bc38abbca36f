"""Names beside points keep clear of each other, of other points and of the frame."""

from itertools import combinations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from sag_vicreg.figures.labels import place_labels


def placed(xy: np.ndarray, names: list[str]) -> tuple[list[Bbox], Bbox, np.ndarray]:
    """Write the names on a unit square; give their boxes, the frame, and the points in pixels."""
    figure = Figure(figsize=(4, 4))
    axis = figure.subplots()
    axis.set(xlim=(0, 1), ylim=(0, 1))
    place_labels(axis, xy, names)
    figure.draw_without_rendering()
    texts = [text for text in axis.texts if text.get_text()]  # the others are lines to a point
    assert [text.get_text() for text in texts] == names
    boxes = [text.get_window_extent() for text in texts]
    return boxes, axis.bbox, axis.transData.transform(xy)


def test_near_points_get_names_that_cover_neither_each_other_nor_a_point() -> None:
    # Names to the upper right would each run over the next point and its name.
    xy = np.array([[0.50, 0.50], [0.56, 0.53], [0.50, 0.56], [0.44, 0.47]])
    boxes, _, points = placed(xy, ["harp", "mandolin", "goldfish", "crab"])
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    for row, box in enumerate(boxes):
        for column, point in enumerate(points):
            assert row == column or not box.contains(*point)


def test_a_point_at_the_edge_has_its_name_inside() -> None:
    corners = np.array([[0.99, 0.99], [0.01, 0.01], [0.99, 0.01], [0.01, 0.99]])
    boxes, frame, _ = placed(corners, ["killer-whale", "mandolin", "horseshoe-crab", "people"])
    for box in boxes:
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert frame.y0 <= box.y0
        assert box.y1 <= frame.y1


def test_many_names_at_one_point_stand_around_it() -> None:
    boxes, frame, _ = placed(np.full((9, 2), 0.5), [f"class {i}" for i in range(9)])
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


def test_a_crowd_stays_inside_and_every_name_is_written() -> None:
    xy = np.random.default_rng(0).uniform(size=(80, 2))
    boxes, frame, _ = placed(xy, [f"a long name {i}" for i in range(80)])
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
    assert all(frame.y0 <= box.y0 and box.y1 <= frame.y1 for box in boxes)


def test_a_name_nearer_to_another_point_has_a_line_to_its_own() -> None:
    figure = Figure(figsize=(4, 4))
    axis = figure.subplots()
    axis.set(xlim=(0, 1), ylim=(0, 1))
    xy = 0.5 + 0.03 * np.stack(np.meshgrid(range(3), range(3)), axis=-1).reshape(-1, 2)
    place_labels(axis, xy, [f"class {i}" for i in range(9)])
    figure.draw_without_rendering()
    points = axis.transData.transform(xy)
    lines = {line.xy[0] + 10 * line.xy[1] for line in axis.texts if not line.get_text()}
    astray = 0
    for row, text in enumerate(text for text in axis.texts if text.get_text()):
        box = text.get_window_extent()
        nearest = np.clip(points, [box.x0, box.y0], [box.x1, box.y1])
        gaps = np.linalg.norm(nearest - points, axis=1)
        if gaps.argmin() != row:
            astray += 1
            assert xy[row, 0] + 10 * xy[row, 1] in lines
    assert astray  # the point in the middle has no free side

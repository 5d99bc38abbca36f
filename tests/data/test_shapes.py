"""The drawn images: deterministic, quick, and a tree that shows in the pixels, not too easily."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

from sag_vicreg.data import load_dataset
from sag_vicreg.data.shapes import draw_shapes, shape_classes
from sag_vicreg.data.shapes.outlines import OUTLINES
from sag_vicreg.data.shapes.surfaces import FIGURES, TEXTURES
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import load_hierarchy


def test_every_class_of_the_tree_can_be_drawn() -> None:
    classes = shape_classes()
    assert len(set(classes)) == 48
    assert {kind.outline for kind in classes} == set(OUTLINES)
    assert {kind.texture for kind in classes} == set(TEXTURES)
    families = {kind.kingdom: set(FIGURES[kind.kingdom]) for kind in classes}
    assert all(kind.family in families[kind.kingdom] for kind in classes)


def test_siblings_differ_only_in_outline_and_count() -> None:
    tree, classes = load_hierarchy("shapes"), np.array(shape_classes(), dtype=object)
    for group in range(12):
        siblings = classes[tree.labels_at(3) == group]
        assert len({(s.kingdom, s.family, s.texture) for s in siblings}) == 1
        assert len({(s.outline, s.count) for s in siblings}) == 4


def test_halves_hold_different_outlines() -> None:
    """A model of the first half has never seen what the second half shows."""
    classes = shape_classes()
    first, second = ({kind.outline for kind in half} for half in (classes[:24], classes[24:]))
    assert not first & second


def test_an_image_depends_on_its_seed_split_class_and_place_alone() -> None:
    few, labels = draw_shapes("test", seed=3, per_class=2)
    more, _ = draw_shapes("test", seed=3, per_class=5, classes=[7, 40])
    assert np.array_equal(few[labels == 40], more[5:7])
    assert not np.array_equal(few, draw_shapes("test", seed=4, per_class=2)[0])
    assert not np.array_equal(few, draw_shapes("train", seed=3, per_class=2)[0])


def test_images_of_a_class_are_all_different() -> None:
    images, _ = draw_shapes("train", classes=[5])
    assert len(np.unique(images.reshape(200, -1), axis=0)) == 200


@pytest.mark.parametrize("size", [8, 33, 64])
def test_other_sizes_show_the_same_scene(size: int) -> None:
    small, _ = draw_shapes("test", size=size, per_class=1)
    usual, _ = draw_shapes("test", per_class=1)
    assert small.shape == (48, 3, size, size)
    means = [images.mean(axis=(2, 3)).astype(float) for images in (small, usual)]
    assert np.abs(means[0] - means[1]).max() < 20


@pytest.mark.parametrize("size", [4, 1000])
def test_sizes_it_cannot_draw_are_refused(size: int) -> None:
    with pytest.raises(InputError, match=f"cannot draw shapes of {size} px"):
        load_dataset("shapes", image_size=size)


def test_outlines_are_signed_distances() -> None:
    """Negative inside, positive far outside, and of slope 1 near the edge."""
    axis = np.linspace(-1.5, 1.5, 301, dtype=np.float32)
    u, v = np.meshgrid(axis, axis)
    for name, outline in OUTLINES.items():
        distance = outline(u, v)
        inside = (distance < 0).mean() * 9
        assert 0.4 < inside < 2.6, name
        assert (distance[[0, -1]] > 0).all(), name
        assert (distance[:, [0, -1]] > 0).all(), name
        slope = np.hypot(*np.gradient(distance, axis, axis))
        assert np.median(slope[np.abs(distance) < 0.05]) == pytest.approx(1, abs=0.35), name


def test_pixels_show_the_tree_but_do_not_give_it_away() -> None:
    """k-NN on raw pixels: well above chance, far from perfect, better the coarser the level."""
    train = load_dataset("shapes")
    test = load_dataset("shapes", split="test", max_images=1200)
    tree = load_hierarchy("shapes")
    knn = KNeighborsClassifier(20)
    nearest = (
        knn.fit(train.images.flatten(1).float().numpy(), train.labels)
        .kneighbors(test.images.flatten(1).float().numpy(), return_distance=False)
    )  # fmt: skip
    accuracy = {}
    for level in range(1, 5):
        votes = torch.from_numpy(tree.labels_at(level))[train.labels[torch.from_numpy(nearest)]]
        truth = torch.from_numpy(tree.labels_at(level))[test.labels]
        accuracy[level] = (votes.mode(dim=1).values == truth).float().mean().item()
    assert accuracy[1] > accuracy[2] > accuracy[3] > accuracy[4]
    assert 0.65 < accuracy[1] < 0.95
    assert 5 / 48 < accuracy[4] < 0.4
    assert accuracy[1] - accuracy[2] > 0.05

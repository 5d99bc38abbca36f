"""The paper's datasets as they really are."""

from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.data import load_dataset
from sag_vicreg.data.sources.imagenet import imagenet1k_wnids, imagenet100_wnids
from sag_vicreg.hierarchy import load_hierarchy

pytestmark = pytest.mark.real_data


@pytest.mark.slow
@pytest.mark.parametrize(("split", "per_class"), [("train", 500), ("test", 100)])
def test_all_of_cifar100(real_cifar100: Path, split: str, per_class: int) -> None:
    data = load_dataset("cifar100", root=real_cifar100, split=split)
    assert data.images.shape == (100 * per_class, 3, 32, 32)
    assert np.bincount(data.labels).tolist() == [per_class] * 100
    assert data.class_names == load_hierarchy("cifar100").classes
    assert len(set(data.ids)) == len(data)
    # Krizhevsky's training images have this mean colour, in 0 to 1.
    if split == "train":
        mean = data.images.float().mean((0, 2, 3)) / 255
        assert mean.tolist() == pytest.approx([0.5071, 0.4865, 0.4409], abs=1e-3)


def test_caltech256_leaves_clutter_out(real_caltech256: Path) -> None:
    parts = {
        split: load_dataset("caltech256", root=real_caltech256, split=split, resident=False)
        for split in ("train", "test", "all")
    }
    assert len(parts["all"].class_names) == 256
    assert parts["all"].class_names[0] == "001.ak47"
    assert parts["all"].class_names[-1] == "256.toad"
    assert len(list((real_caltech256 / "256_ObjectCategories").iterdir())) == 257
    train, test = (set(parts[split].ids) for split in ("train", "test"))
    assert not train & test
    assert train | test == set(parts["all"].ids)
    share = np.bincount(parts["train"].labels) / np.bincount(parts["all"].labels)
    assert share.min() > 0.75
    assert share.max() < 0.85
    first = load_dataset("caltech256", root=real_caltech256, classes="first", max_images=128)
    assert [name.partition(".")[0] for name in first.label_names()] == [
        f"{number:03d}" for number in range(1, 129)
    ]


def test_the_papers_100_wnids(real_imagenet: Path) -> None:
    assert len(set(imagenet100_wnids())) == 100
    assert imagenet1k_wnids()[:100] == imagenet100_wnids()
    data = load_dataset("imagenet100", root=real_imagenet, split="test", image_size=32)
    assert data.class_names == imagenet100_wnids()
    # 50 of each, or fewer where only a sample is kept.
    there = [len(list((real_imagenet / "val" / wnid).iterdir())) for wnid in data.class_names]
    assert np.bincount(data.labels).tolist() == there
    assert data.images.shape == (sum(there), 3, 32, 32)


def test_imagenet_is_the_papers_where_only_its_classes_are(real_imagenet: Path) -> None:
    if len(list((real_imagenet / "val").iterdir())) > 100:
        pytest.skip("all 1,000 classes are here")
    ids = [
        load_dataset(name, root=real_imagenet, split="test", resident=False).ids
        for name in ("imagenet", "imagenet100")
    ]
    assert ids[0] == ids[1]

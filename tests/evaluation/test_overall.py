"""Everything together, and real images: PCA of CIFAR-100's pixels."""

import json
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.artifacts import Embeddings
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import evaluate
from sag_vicreg.hierarchy import Hierarchy, load_hierarchy

TREE = load_hierarchy("shapes")


def embedded(n: int, seed: int, noise: float = 0.5) -> Embeddings:
    fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
    center = sum(
        fixed.standard_normal((len(TREE.names_at(level)), 12))[TREE.labels_at(level)] / level
        for level in range(1, TREE.n_levels + 1)
    )
    labels = np.arange(n) % len(TREE.classes)
    vectors = (center[labels] + noise * rng.standard_normal((n, 12))).astype(np.float32)
    ids = np.array([f"{seed}/{row}" for row in range(n)])
    return Embeddings(vectors, ids, np.array(TREE.classes)[labels])


def test_all_measures_of_one_set() -> None:
    test, train = embedded(300, seed=1), embedded(600, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate(test, TREE, train=train, view=test, seeds=(0, 1))
    levels = range(1, TREE.n_levels + 1)
    assert found.n_classes == tuple(len(TREE.names_at(level)) for level in levels)
    for scores in (found.knn, found.probe):
        assert all(a > m for a, m in zip(scores.accuracy, found.majority, strict=True))
    assert found.class_tree.spearman > 0.3
    assert found.label_free.alignment == 0.0
    result = found.result("ours", images={}, hierarchy="shapes")
    content = json.loads(json.dumps(asdict(result), allow_nan=False))
    for measure in ("majority", "knn", "probe", "rand", "ari", "nmi"):
        assert all(f"{measure}.level{level}" in content["scores"] for level in levels)
    assert content["scores"]["probe.level1"] == pytest.approx(np.mean(found.probe.by_seed, 0)[0])
    deviation = np.std(found.probe.by_seed, axis=0, ddof=1)[3]
    assert content["deviations"]["probe.level4"] == pytest.approx(deviation)
    assert content["options"]["knn"]["k"] == 20
    assert content["options"]["probe"]["seeds"] == [0, 1]
    assert content["options"]["n_train"] == 600
    assert content["options"]["n_classes"] == list(found.n_classes)


def test_without_a_training_set_nothing_is_classified() -> None:
    found = evaluate(embedded(300, seed=1), TREE)
    assert found.knn is None
    assert found.probe is None
    assert not any(key.startswith(("knn.", "probe.")) for key in found.scores())
    assert not {"knn", "probe"} & found.result("", images={}, hierarchy="").options.keys()


def test_shared_ids_are_warned_of_loudly() -> None:
    test = embedded(200, seed=1)
    with pytest.warns(UserWarning, match="TRAIN AND TEST OVERLAP: 200 of 200"):
        evaluate(test, TREE, train=test)


def test_two_classes_of_a_flat_hierarchy() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 2
    flat = Hierarchy((("cat",), ("dog",)))
    vectors = rng.standard_normal((80, 3)) + 3 * (2 * labels[:, None] - 1)
    found = evaluate(Embeddings(vectors, labels=labels), flat)
    assert found.class_tree is None
    assert found.rand.by_level[0].rand > 0.9


def test_missing_labels_are_refused() -> None:
    test = embedded(100, seed=1)
    bare = Embeddings(test.vectors)
    with pytest.raises(InputError, match="the test embeddings have no labels"):
        evaluate(bare, TREE)
    with pytest.raises(InputError, match="the training embeddings have no labels"):
        evaluate(test, TREE, train=bare)
    with pytest.raises(InputError, match="seeds is empty"):
        evaluate(test, TREE, seeds=())


@pytest.mark.real_data
def test_pixels_of_cifar100_give_sane_numbers_that_rise_with_coarseness(
    real_cifar100: Path,
) -> None:
    from sag_vicreg.data import load_dataset

    def read(split: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        data = load_dataset(
            "cifar100", root=real_cifar100, split=split, image_size=16, max_images=n
        )
        return data.images.numpy().reshape(n, -1) / 255.0, data.labels.numpy()

    (train, train_labels), (test, test_labels) = read("train", 5000), read("test", 1500)
    mean = train.mean(axis=0)
    principal = np.linalg.svd(train - mean, full_matrices=False)[2][:64].T
    found = evaluate(
        Embeddings((test - mean) @ principal, labels=test_labels),
        load_hierarchy("cifar100"),
        train=Embeddings((train - mean) @ principal, labels=train_labels),
    )
    for scores, finest in ((found.knn, (0.04, 0.2)), (found.probe, (0.05, 0.25))):
        assert list(scores.accuracy) == sorted(scores.accuracy, reverse=True)
        assert finest[0] < scores.accuracy[3] < finest[1]
        assert scores.accuracy[0] > found.majority[0]
    assert all(0 < score.adjusted_rand < 0.2 for score in found.rand.by_level)
    assert 0 < found.class_tree.spearman < 0.6
    assert 1 < found.label_free.rankme < 64

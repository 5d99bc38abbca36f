"""Hierarchical k-NN: scikit-learn as the oracle, then invariants and refusals."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import hierarchical_knn
from sag_vicreg.evaluation import neighbors as neighbors_module
from sag_vicreg.evaluation.neighbors import nearest
from sag_vicreg.hierarchy import Hierarchy, load_hierarchy

TREE = load_hierarchy("cifar100")


def clustered(n: int, seed: int, dimension: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Points around class centres that are near where classes are near in the tree."""
    centres = np.random.default_rng(7)
    center = sum(
        centres.standard_normal((len(TREE.names_at(level)), dimension))[TREE.labels_at(level)]
        for level in range(1, 5)
    )
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 100, n)
    return center[labels] + 1.5 * rng.standard_normal((n, dimension)), labels


def oracle(train, train_labels, test, level, **options) -> np.ndarray:
    classifier = KNeighborsClassifier(algorithm="brute", metric="cosine", **options)
    return classifier.fit(train, TREE.encode(train_labels, level)).predict(test)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_plain_vote_equals_scikit_learn_at_every_level(k: int) -> None:
    train, train_labels = clustered(3000, seed=0)
    test, test_labels = clustered(500, seed=1)
    scores = hierarchical_knn(train, train_labels, test, test_labels, TREE, k=k)
    assert scores.near_ties <= 2
    for level in range(1, 5):
        expected = oracle(train, train_labels, test, level, n_neighbors=k)
        assert (scores.predictions[level - 1] != expected).sum() <= scores.near_ties
        accuracy = (expected == TREE.encode(test_labels, level)).mean()
        assert scores.accuracy[level - 1] == pytest.approx(accuracy, abs=scores.near_ties / 500)
    assert sorted(scores.accuracy, reverse=True) == list(scores.accuracy)
    assert 0.05 < scores.accuracy[3] < 0.95


def test_weighted_vote_equals_scikit_learn() -> None:
    train, train_labels = clustered(2000, seed=0)
    test, test_labels = clustered(400, seed=1)
    scores = hierarchical_knn(
        train, train_labels, test, test_labels, TREE, vote="weighted", temperature=0.1
    )
    expected = oracle(
        train, train_labels, test, 4, n_neighbors=20, weights=lambda d: np.exp((1 - d) / 0.1)
    )
    np.testing.assert_array_equal(scores.predictions[3], expected)
    assert scores.settings()["temperature"] == 0.1


def test_a_tiny_temperature_is_the_nearest_neighbour() -> None:
    train, train_labels = clustered(1000, seed=0)
    test, test_labels = clustered(200, seed=1)
    cold = hierarchical_knn(
        train, train_labels, test, test_labels, TREE, vote="weighted", temperature=1e-9
    )
    one = hierarchical_knn(train, train_labels, test, test_labels, TREE, k=1)
    np.testing.assert_array_equal(cold.predictions, one.predictions)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    train, _ = clustered(777, seed=0)
    test, _ = clustered(333, seed=1)
    whole = nearest(test, train, 9)
    monkeypatch.setattr(neighbors_module, "QUERY_BLOCK", 50)
    monkeypatch.setattr(neighbors_module, "KEY_BLOCK", 64)
    np.testing.assert_array_equal(nearest(test, train, 9).indices, whole.indices)


def test_equal_neighbours_come_in_order_and_are_counted() -> None:
    train = np.ones((6, 3))
    found = nearest(np.ones((2, 3)), train, 3)
    np.testing.assert_array_equal(found.indices, [[0, 1, 2]] * 2)
    scores = hierarchical_knn(train, [0, 1, 2, 0, 1, 2], np.ones((2, 3)), [0, 1], TREE, k=3)
    assert scores.near_ties == 2
    np.testing.assert_array_equal(scores.predictions[3], [0, 0])  # one vote each: the smallest


def test_coarser_is_never_worse_for_the_same_predictions() -> None:
    train, train_labels = clustered(1500, seed=2)
    test, test_labels = clustered(300, seed=3)
    finest = hierarchical_knn(train, train_labels, test, test_labels, TREE).predictions[3]
    accuracy = [
        (TREE.labels_at(level)[finest] == TREE.encode(test_labels, level)).mean()
        for level in range(1, 5)
    ]
    assert accuracy == sorted(accuracy, reverse=True)


def test_perfect_random_and_constant_embeddings() -> None:
    labels = np.arange(2000) % 100
    perfect = np.eye(100)[labels]
    assert hierarchical_knn(perfect, labels, perfect, labels, TREE).accuracy == (1, 1, 1, 1)
    noise = np.random.default_rng(0).standard_normal((4000, 16))
    chance = hierarchical_knn(noise[:2000], labels, noise[2000:], labels, TREE)
    assert chance.accuracy[3] < 0.03
    constant = hierarchical_knn(np.ones((2000, 4)), labels, np.ones((100, 4)), labels[:100], TREE)
    assert constant.accuracy[3] == pytest.approx(0.01)
    assert constant.near_ties == 100


def test_scale_of_a_vector_does_not_matter_and_zero_is_at_cosine_zero() -> None:
    train, _ = clustered(500, seed=0)
    test, _ = clustered(50, seed=1)
    factors = 10.0 ** np.random.default_rng(0).uniform(-150, 150, (500, 1))
    np.testing.assert_array_equal(
        nearest(test, train, 5).indices, nearest(test, train * factors, 5).indices
    )
    found = nearest(np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0], [0.0, 0.0]]), 2)
    np.testing.assert_array_equal(found.indices, [[1, 0]])
    np.testing.assert_array_equal(found.similarity, [[0.0, -1.0]])


def test_labels_by_name_and_by_index_are_the_same() -> None:
    train, train_labels = clustered(500, seed=0)
    test, test_labels = clustered(100, seed=1)
    names = np.array(TREE.classes)
    by_index = hierarchical_knn(train, train_labels, test, test_labels, TREE)
    by_name = hierarchical_knn(train, names[train_labels], test, names[test_labels], TREE)
    assert by_index == by_name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 21}, "k is 21 but train has 20 points"),
        ({"k": 0}, "k is 0"),
        ({"vote": "wieghted"}, "did you mean 'weighted'"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"train": np.full((20, 3), np.nan)}, "NaN or infinity in 20 rows, the first is row 0"),
        ({"test": np.ones((5, 4))}, "train has dimension 3 and test 4"),
        ({"test": np.ones(5)}, r"shape \(5,\)"),
        ({"test": np.ones((5, 3), dtype=complex)}, "complex"),
        ({"test_labels": ["apple"] * 5}, "every point of test is of class 'apple'"),
        ({"test_labels": ["apple", "unicorn", "bear", "bear", "bear"]}, "unicorn"),
        ({"test_labels": [0, 1, 2, 3, 100]}, "100"),
        ({"train_labels": [0, 1]}, "20 points but labels of shape"),
        ({"train_labels": None}, "train has no labels"),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict, message: str) -> None:
    arguments = {
        "train": np.ones((20, 3)),
        "train_labels": np.arange(20),
        "test": np.ones((5, 3)),
        "test_labels": np.arange(5),
        "hierarchy": TREE,
    }
    with pytest.raises(InputError, match=message):
        hierarchical_knn(**(arguments | change))


def test_a_flat_hierarchy_is_plain_classification() -> None:
    flat = Hierarchy((("a",), ("b",)))
    scores = hierarchical_knn(np.eye(2), ["a", "b"], np.eye(2), ["a", "b"], flat, k=1)
    assert scores.accuracy == (1.0,)

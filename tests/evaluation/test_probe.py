"""Hierarchical linear probe: scikit-learn as the oracle, seeds, early stopping, refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import hierarchical_probe
from sag_vicreg.evaluation.probe import LEARNING_RATES
from sag_vicreg.hierarchy import Hierarchy, load_hierarchy

TREE = load_hierarchy("cifar100")
DIGITS = Hierarchy(tuple(("even" if d % 2 == 0 else "odd", f"digit {d}") for d in range(10)))
COIN = Hierarchy((("heads",), ("tails",)))


def clustered(n: int, seed: int, noise: float, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features around class centres that follow the tree."""
    fixed = np.random.default_rng(7)
    center = sum(
        fixed.standard_normal((len(TREE.names_at(level)), dimension))[TREE.labels_at(level)]
        for level in range(1, 5)
    )
    mixing = fixed.standard_normal((dimension, dimension)) * np.arange(1, dimension + 1) ** -0.5
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 100, n)
    vectors = (center[labels] + noise * rng.standard_normal((n, dimension))) @ mixing + 3
    return vectors.astype(np.float32), labels


def logistic_regression(train, train_labels, test, test_labels, tree) -> np.ndarray:
    scores = []
    for level in range(1, tree.n_levels + 1):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        model.fit(train, tree.encode(train_labels, level))
        scores.append(model.score(test, tree.encode(test_labels, level)))
    return np.array(scores)


def test_equals_logistic_regression_on_digits() -> None:
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.data))
    x, y = data.data[order], data.target[order]
    arguments = (x[:900], y[:900], x[900:], y[900:], DIGITS)
    ours = hierarchical_probe(*arguments, seeds=range(3))
    np.testing.assert_allclose(ours.accuracy, logistic_regression(*arguments), atol=0.005)


@pytest.mark.parametrize(("n", "dimension", "noise"), [(6000, 32, 1.5), (3000, 64, 3.0)])
def test_at_most_half_a_point_below_logistic_regression(n, dimension, noise) -> None:
    train, train_labels = clustered(n, 0, noise, dimension)
    test, test_labels = clustered(8000, 1, noise, dimension)
    arguments = (train, train_labels, test, test_labels, TREE)
    ours = np.array(hierarchical_probe(*arguments).accuracy)
    oracle = logistic_regression(*arguments)
    assert (ours > oracle - 0.005).all(), (ours, oracle)
    assert (ours < oracle + 0.04).all(), (ours, oracle)
    assert 0.1 < ours[3] < ours[0] < 0.99


def test_many_weak_directions_of_noise_do_not_drown_a_few_strong_ones() -> None:
    """As in real embeddings; fully whitened features would lose many points here."""
    fixed = np.random.default_rng(3)
    strength = np.arange(1, 257) ** -0.5
    mixing = strength[:, None] * np.linalg.qr(fixed.standard_normal((256, 256)))[0]
    center = np.zeros((100, 256))
    center[:, :32] = fixed.standard_normal((100, 32))

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = fixed.integers(0, 100, n)
        return (center[labels] + 2.5 * fixed.standard_normal((n, 256))) @ mixing, labels

    arguments = (*draw(3000), *draw(5000), TREE)
    ours = np.array(hierarchical_probe(*arguments).accuracy)
    assert (ours > logistic_regression(*arguments) - 0.005).all()


def test_units_and_offset_of_a_feature_do_not_matter() -> None:
    train, train_labels = clustered(2000, 0, 1.0, 16)
    test, test_labels = clustered(2000, 1, 1.0, 16)
    units, offset = 10.0 ** np.linspace(-3, 3, 16), np.linspace(-2, 2, 16)
    plain = hierarchical_probe(train, train_labels, test, test_labels, TREE)
    moved = hierarchical_probe(
        train * units + offset, train_labels, test * units + offset, test_labels, TREE
    )
    np.testing.assert_allclose(moved.accuracy, plain.accuracy, atol=0.003)


@pytest.mark.parametrize("scale", [1e-24, 1e18])
def test_the_probe_does_not_see_the_scale(scale: float) -> None:
    train, train_labels = clustered(600, 0, 0.5, 8)
    test, test_labels = clustered(300, 1, 0.5, 8)
    accuracies = [
        hierarchical_probe(
            (size * train).astype(np.float32),
            train_labels,
            (size * test).astype(np.float32),
            test_labels,
            TREE,
        ).accuracy
        for size in (1.0, scale)
    ]
    np.testing.assert_allclose(accuracies[1], accuracies[0], atol=0.01)


def test_seeds_give_mean_and_deviation_and_repeat_exactly() -> None:
    train, train_labels = clustered(1000, 0, 1.0, 16)
    test, test_labels = clustered(500, 1, 1.0, 16)
    arguments = (train, train_labels, test, test_labels, TREE)
    scores = hierarchical_probe(*arguments, seeds=(0, 1, 2))
    assert scores == hierarchical_probe(*arguments, seeds=(0, 1, 2))
    assert scores.by_seed[1] == hierarchical_probe(*arguments, seeds=(1,)).by_seed[0]
    np.testing.assert_allclose(scores.accuracy, np.mean(scores.by_seed, axis=0))
    np.testing.assert_allclose(scores.deviation, np.std(scores.by_seed, axis=0, ddof=1))
    assert max(scores.deviation) > 0
    assert hierarchical_probe(*arguments).deviation is None
    assert {rate for row in scores.learning_rates for rate in row} <= set(LEARNING_RATES)


def test_noise_stops_early_and_stays_at_chance() -> None:
    rng = np.random.default_rng(0)
    vectors, labels = rng.standard_normal((3000, 100)), rng.integers(0, 2, 3000)
    scores = hierarchical_probe(vectors[:1000], labels[:1000], vectors[1000:], labels[1000:], COIN)
    assert scores.rounds[0][0] <= 3
    assert scores.accuracy[0] == pytest.approx(0.5, abs=0.05)


def test_perfect_and_constant_embeddings() -> None:
    labels = np.arange(2000) % 100
    perfect = np.eye(100)[labels]
    assert hierarchical_probe(perfect, labels, perfect, labels, TREE).accuracy == (1, 1, 1, 1)
    constant = np.full((200, 3), 0.1)
    sides = np.arange(200) % 4 == 0  # a quarter tails: the bias alone answers heads
    scores = hierarchical_probe(constant, sides.astype(int), constant, sides.astype(int), COIN)
    assert scores.accuracy == (0.75,)


def test_a_class_the_training_set_lacks_is_never_right() -> None:
    train, test = np.repeat(np.eye(3)[:2], 50, axis=0), np.eye(3)
    tree = Hierarchy((("a",), ("b",), ("c",)))
    scores = hierarchical_probe(train, np.repeat(["a", "b"], 50), test, ["a", "b", "c"], tree)
    assert scores.accuracy[0] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": np.ones((9, 3)), "train_labels": np.arange(9)}, "at least 10"),
        ({"test": np.ones((5, 4))}, "train has dimension 3 and test 4"),
        ({"test": np.full((5, 3), np.inf)}, "NaN or infinity in 5 rows"),
        ({"train_labels": ["apple"] * 20}, "every point of train is of class 'apple'"),
        ({"train_labels": ["unicorn"] * 20}, "unicorn"),
        ({"seeds": ()}, "seeds is empty"),
        ({"max_rounds": 0}, "max_rounds is 0"),
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
        hierarchical_probe(**(arguments | change))

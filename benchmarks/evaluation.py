"""Evaluation against scikit-learn: k-NN, linear probe and Rand index at four levels.

In the k-NN both take turns. scikit-learn's regressions and clusterings take minutes: they run once,
after the repetitions of ours.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report, Target
from benchmarks.timing import take_turns
from sag_vicreg.evaluation import hierarchical_knn, hierarchical_probe, rand_index
from sag_vicreg.evaluation.knn import NEAR_TIE
from sag_vicreg.evaluation.neighbors import nearest
from sag_vicreg.hierarchy import Hierarchy, load_hierarchy
from sag_vicreg.scores import CLUSTER_COUNTS

DIMENSIONS = 512
K = 20
NEIGHBORS = 10

Measured = tuple[tuple[str, ...], list[Target]]
"""The row of a task, and the targets it is held to."""


@dataclass(frozen=True)
class Labelled:
    """Vectors and their class indices."""

    vectors: NDArray[np.float32]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def embeddings(n: int, *, seed: int, tree: Hierarchy) -> Labelled:
    """Make embeddings such as a trained network gives: classes overlap, variances decay.

    Class centres follow the tree and lie in an eighth of the directions; the noise is in all of
    them. Scores come out near the paper's: a k-NN right on half the images of a superclass.
    """
    fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
    centers = np.zeros((len(tree.classes), DIMENSIONS))
    signal = DIMENSIONS // 8
    for level in tree.levels:
        groups = fixed.standard_normal((len(tree.names_at(level)), signal))
        centers[:, :signal] += groups[tree.labels_at(level)]
    scales = np.arange(1, DIMENSIONS + 1) ** -0.5
    mixing = scales[:, None] * np.linalg.qr(fixed.standard_normal((DIMENSIONS, DIMENSIONS)))[0]
    labels = rng.integers(0, len(centers), n)
    noise = rng.standard_normal((n, DIMENSIONS), dtype=np.float32)
    vectors = (centers.astype(np.float32)[labels] + 4 * noise) @ mixing.astype(np.float32)
    return Labelled(vectors, labels)


def run(*, points: int, queries: int, rand_points: int, repeats: int) -> Report:
    """Measure all three, ours and scikit-learn's in turn."""
    tree = load_hierarchy("cifar100")
    train, test = (
        embeddings(points, seed=1, tree=tree),
        embeddings(queries, seed=2, tree=tree),
    )
    parts = [
        measure_knn(train, test, tree, repeats),
        measure_probe(train, test, tree, repeats),
        measure_rand(embeddings(rand_points, seed=3, tree=tree), tree, repeats),
    ]
    return Report(
        title=f"evaluation against scikit-learn, {DIMENSIONS} dimensions, {tree.n_levels} levels",
        columns=("task", "ours, s", "scikit-learn, s", "ratio", "agreement"),
        rows=[row for row, _ in parts],
        targets=[target for _, targets in parts for target in targets],
    )


def _seconds(
    ours: Callable[[], None], theirs: Callable[[], None], repeats: int, task: str
) -> tuple[float, float]:
    """Median of ours, and one run of a peer too slow to repeat."""
    mine = take_turns({"ours": ours}, repeats=repeats, task=f"{task}, ours")["ours"].median
    peer = take_turns({"peer": theirs}, repeats=1, warmup=0, task=f"{task}, scikit-learn")
    return mine, peer["peer"].median


def _row(task: str, ours: float, theirs: float, agreement: str) -> tuple[str, ...]:
    return (task, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", agreement)


def measure_knn(train: Labelled, test: Labelled, tree: Hierarchy, repeats: int) -> Measured:
    """Vote at every level from one search, against a classifier per level."""
    from sklearn.neighbors import KNeighborsClassifier

    found: dict[str, NDArray[np.int64]] = {}

    def ours() -> None:
        sets = (train.vectors, train.labels, test.vectors, test.labels, tree)
        found["ours"] = hierarchical_knn(*sets, k=K).predictions

    def theirs() -> None:
        levels = []
        for level in tree.levels:
            model = KNeighborsClassifier(K, algorithm="brute", metric="cosine")
            model.fit(train.vectors, tree.encode(train.labels, level))
            levels.append(model.predict(test.vectors))
        found["theirs"] = np.stack(levels)

    nearest(test.vectors[:8], train.vectors[:64], K)  # compiles
    timings = take_turns({"ours": ours, "theirs": theirs}, repeats=repeats, warmup=0, task="k-NN")
    similarity = nearest(test.vectors, train.vectors, K + 1).similarity
    tied = similarity[:, K - 1] - similarity[:, K] < NEAR_TIE
    differs = found["ours"] != found["theirs"]
    unexplained = int(differs[:, ~tied].sum())
    ratio = timings["theirs"].median / timings["ours"].median
    task = f"k-NN, {len(train):,} x {len(test):,}, {tree.n_levels} levels"
    agreement = (
        f"{differs.size - differs.sum():,} of {differs.size:,} predictions equal; "
        f"{int(tied.sum())} queries tied at k within {NEAR_TIE:g}"
    )
    return (
        _row(task, timings["ours"].median, timings["theirs"].median, agreement),
        [
            Target("k-NN, times faster", ratio, 3),
            Target("k-NN, predictions that differ without a tie", unexplained, 0, at_least=False),
        ],
    )


def measure_probe(train: Labelled, test: Labelled, tree: Hierarchy, repeats: int) -> Measured:
    """Train all levels in one pass, against a logistic regression per level."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    found: dict[str, NDArray[np.float64]] = {}
    scaler = StandardScaler().fit(train.vectors)
    scaled, scaled_test = scaler.transform(train.vectors), scaler.transform(test.vectors)

    def ours() -> None:
        sets = (train.vectors, train.labels, test.vectors, test.labels, tree)
        found["ours"] = np.array(hierarchical_probe(*sets).accuracy)

    def theirs() -> None:
        accuracy = []
        for level in tree.levels:
            model = LogisticRegression().fit(scaled, tree.encode(train.labels, level))
            accuracy.append(model.score(scaled_test, tree.encode(test.labels, level)))
        found["theirs"] = np.array(accuracy)

    with warnings.catch_warnings():
        # Its hundred iterations may end before its tolerance is reached: that is its default.
        warnings.simplefilter("ignore", ConvergenceWarning)
        mine, peer = _seconds(ours, theirs, repeats, "linear probe")
    points = 100 * (found["ours"] - found["theirs"])
    task = f"linear probe, {len(train):,}, {tree.n_levels} levels"
    accuracies = ", ".join(
        f"{100 * a:.1f} / {100 * b:.1f}"
        for a, b in zip(found["ours"], found["theirs"], strict=True)
    )
    return (
        _row(task, mine, peer, f"percent {accuracies}"),
        [
            Target("linear probe, times faster", peer / mine, 4),
            Target(
                "linear probe, points of accuracy gained at the worst level",
                float(points.min()),
                -0.5,
            ),
        ],
    )


def measure_rand(data: Labelled, tree: Hierarchy, repeats: int) -> Measured:
    """Cluster one spectral embedding ten times, against ten spectral clusterings."""
    from sklearn.cluster import SpectralClustering
    from sklearn.metrics import rand_score

    found: dict[str, list[float]] = {}
    # By cosine, as ours: scikit-learn's graph knows Euclidean distance.
    unit = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)

    def ours() -> None:
        scores = rand_index(
            data.vectors, data.labels, tree, cluster_counts=CLUSTER_COUNTS, n_neighbors=NEIGHBORS
        )
        found["ours"] = [score.rand for score in scores.by_count]

    def theirs() -> None:
        found["theirs"] = []
        for count in CLUSTER_COUNTS:
            model = SpectralClustering(
                count, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=0
            )
            found["theirs"].append(rand_score(data.labels, model.fit_predict(unit)))

    mine, peer = _seconds(ours, theirs, repeats, "Rand index")
    difference = float(np.abs(np.subtract(found["ours"], found["theirs"])).max())
    task = f"Rand index, {len(data):,}, {len(CLUSTER_COUNTS)} cluster counts"
    return (
        _row(task, mine, peer, f"scores differ by at most {difference:.4f}"),
        [
            Target("Rand index, times faster", peer / mine, 5),
            Target("Rand index, largest difference", difference, 0.01, at_least=False),
        ],
    )

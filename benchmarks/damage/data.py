"""The three kinds of data that are damaged: digits, CIFAR-100 embeddings, drawn hierarchies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts import read_embeddings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CIFAR = Path(__file__).parents[2] / "replication/embeddings/vicreg-seed10-first-test.parquet"
DIMENSIONS = 32
STEPS = (1.0, 0.8, 0.64, 0.51)
AROUND_LEAF = 0.6
FEWEST = 3
SMALL = (8, 16, 32, 64)


@dataclass(frozen=True, eq=False)
class Sample:
    """One set before the damage.

    Attributes
    ----------
    data : str
        Which kind of data it is.
    x : (n, d)
        The vectors.
    clusters : (n,)
        The clusters that are scattered or merged.
    small : mapping to (n,)
        Small clusters by the name of their level, the smallest first.
    dimensions
        How many are left by truncation and projection, the most first.
    paths : (n, 4) or None
        Of a drawn hierarchy, the known cluster of each item at each level, the largest first.
    seeds
        Of the damage and of the forest's halves.
    """

    data: str
    x: Floats
    clusters: Ints
    small: Mapping[str, Ints]
    dimensions: tuple[int, ...]
    paths: Ints | None
    seeds: tuple[int, ...]


def samples() -> list[Sample]:
    """Load or draw all sets: digits, CIFAR-100, five hierarchies."""
    return [digits(), cifar100(), *(hierarchy(1_000, seed) for seed in range(5))]


def digits() -> Sample:
    """Reduce scikit-learn's digits to 20 dimensions."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    images, labels = load_digits(return_X_y=True)
    x = PCA(20, random_state=0).fit_transform(images)
    return Sample("digits", x, labels, _small_clusters(x), (16, 8, 4, 2), None, (0, 1, 2))


def pixels() -> Floats:
    """Return the digits' raw pixels."""
    from sklearn.datasets import load_digits

    raw: Floats = load_digits().data
    return raw


def cifar100() -> Sample:
    """Read the published embeddings of 2,000 CIFAR-100 test images."""
    x = read_embeddings(CIFAR).vectors.astype(np.float64)
    return Sample(
        "CIFAR-100", x, _k_means(x, 20), _small_clusters(x), (64, 16, 4, 2), None, (0, 1, 2)
    )


def hierarchy(n: int, seed: int) -> Sample:
    """Draw ``n`` items of a hierarchy of four levels below a root at the origin."""
    rng = np.random.default_rng(seed)
    nodes: list[tuple[Floats, tuple[int, ...]]] = [(np.zeros(DIMENSIONS), ())]
    for step in STEPS:
        below: list[tuple[Floats, tuple[int, ...]]] = []
        for centre, path in nodes:
            for _ in range(int(rng.integers(2, 5))):
                length = step * np.exp(0.25 * rng.normal())
                below.append((centre + length * _direction(rng), (*path, len(below))))
        nodes = below
    shares = rng.exponential(size=len(nodes))
    sizes = FEWEST + rng.multinomial(n - FEWEST * len(nodes), shares / shares.sum())
    leaf = np.repeat(np.arange(len(nodes)), sizes)
    centres = np.array([centre for centre, _ in nodes])
    offsets = rng.normal(size=(n, DIMENSIONS)) * AROUND_LEAF / np.sqrt(DIMENSIONS)
    paths = np.array([path for _, path in nodes])[leaf]
    return Sample(
        "drawn",
        centres[leaf] + offsets,
        paths[:, 3],
        {"level 4": paths[:, 3], "level 3": paths[:, 2], "level 2": paths[:, 1]},
        (16, 8, 4, 2),
        paths,
        (seed,),
    )


def _direction(rng: np.random.Generator) -> Floats:
    """Draw a vector whose squared length is 1 on average."""
    drawn: Floats = rng.normal(size=DIMENSIONS) / np.sqrt(DIMENSIONS)
    return drawn


def _small_clusters(x: Floats) -> dict[str, Ints]:
    return {f"{size} rows": _k_means(x, len(x) // size) for size in SMALL}


def _k_means(x: Floats, k: int) -> Ints:
    from sklearn.cluster import KMeans

    labels = KMeans(k, n_init=1, random_state=0).fit_predict(x)
    return np.asarray(labels, np.int64)

"""The forest with anchors against the plain forest, on several kinds of data.

Trees have as many leaves on both sides. The plain forest takes a random sample of twice as many
rows, each of which is in half of its trees; the forest with anchors takes all rows.
"""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, Target
from sag_vicreg.artifacts import open_table
from sag_vicreg.progress import track
from sag_vicreg.structure import compare_tables, forest_similarity, ward_forest

Floats = npt.NDArray[np.float32]
Maker = Callable[[], tuple[Floats, Floats] | None]
"""Makes two sets of the same items, or None where their data is missing."""

_DIMENSIONS = 32
_NOISE = 0.7
_PIXELS = 64


def run(*, rows: int, anchors: int, leaves: int, trees: int) -> Report:
    """Score the same pairs of sets by both forests."""
    lines: list[tuple[str, ...]] = []
    largest = 0.0
    kinds: list[tuple[str, Maker]] = [(name, partial(made, name, rows)) for name in KINDS]
    kinds.append(("CIFAR-100", cifar100))
    for name, make in track(kinds, "kinds of data"):
        pair = make()
        if pair is None:
            lines.append((f"{name}: no images", "", "", "", "", ""))
            continue
        one, other = pair
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{which}.npy" for which in "ab"]
            for path, x in zip(paths, pair, strict=True):
                np.save(path, x)
            s = compare_tables(*map(open_table, paths), anchors=anchors, leaves=leaves, trees=trees)
        plain = forest_similarity(
            *(ward_forest(x, items=2 * leaves, trees=2 * trees) for x in (one, other))
        )
        apart = s.spearman - plain.spearman
        allowed = (s.interval[1] - s.interval[0]) / 2 + (plain.interval[1] - plain.interval[0]) / 2
        largest = max(largest, abs(apart) / allowed)
        lines.append(
            (
                f"{name}, {len(one):,} x {one.shape[1]}",
                _scored(s.spearman, s.interval),
                _scored(plain.spearman, plain.interval),
                f"{apart:+.3f}",
                f"{s.twice_the_anchors:+.3f}",
                f"{min(s.reliability):.2f}",
            )
        )
    return Report(
        f"forest with {anchors:,} anchors in 5 sets, {trees} trees of {leaves:,} leaves each, "
        f"against the plain forest of {2 * leaves:,} sampled rows, {2 * trees} trees",
        ("data", "with anchors", "plain", "difference", "twice the anchors", "reliability"),
        lines,
        [Target("largest difference over both half intervals", largest, 1.0, at_least=False)],
    )


def _scored(score: float, interval: tuple[float, float]) -> str:
    return f"{score:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"


def made(name: str, rows: int) -> tuple[Floats, Floats]:
    """Draw a set, and a noisy turn of it."""
    rng = np.random.default_rng(0)
    x = KINDS[name](rng, rows)
    turn, _ = np.linalg.qr(rng.normal(size=(_DIMENSIONS, _DIMENSIONS)))
    noise = _NOISE * x.std() * rng.normal(size=x.shape)
    return x.astype(np.float32), (x @ turn + noise).astype(np.float32)


def _clustered(rng: np.random.Generator, rows: int) -> npt.NDArray[np.float64]:
    """Two hundred clusters of unequal size, far from one another alike."""
    centres = 2 * rng.normal(size=(200, _DIMENSIONS))
    share = rng.dirichlet(np.ones(200))
    return centres[rng.choice(200, size=rows, p=share)] + rng.normal(size=(rows, _DIMENSIONS))


def _hierarchical(rng: np.random.Generator, rows: int) -> npt.NDArray[np.float64]:
    """Classes in groups in branches."""
    d = _DIMENSIONS
    branches = 2 * rng.normal(size=(10, d))
    groups = branches[rng.integers(10, size=100)] + 1.5 * rng.normal(size=(100, d))
    classes = groups[rng.integers(100, size=1_000)] + rng.normal(size=(1_000, d))
    return classes[rng.integers(1_000, size=rows)] + rng.normal(size=(rows, d))


def _uniform(rng: np.random.Generator, rows: int) -> npt.NDArray[np.float64]:
    """No structure at all: every direction alike."""
    return rng.normal(size=(rows, _DIMENSIONS))


KINDS = {"clustered": _clustered, "hierarchical": _hierarchical, "uniform": _uniform}


def cifar100() -> tuple[Floats, Floats] | None:
    """Return two linear embeddings of all images at 16 x 16: of pixels, and of grey gradients."""
    if not os.environ.get("SAG_VICREG_DATA"):
        return None
    from sag_vicreg.data import load_dataset

    sets = [load_dataset("cifar100", split=split) for split in ("train", "test")]
    images = np.concatenate([_half_size(each.batch(range(len(each))).numpy()) for each in sets])
    grey = images.mean(axis=1)
    edges = [np.diff(grey, axis=1)[:, :, :-1], np.diff(grey, axis=2)[:, :-1]]
    two = images.reshape(len(images), -1), np.stack(edges, axis=1).reshape(len(images), -1)
    pixels, gradients = (_principal(x) for x in two)
    return pixels, gradients


def _half_size(images: npt.NDArray[np.uint8]) -> Floats:
    """Average squares of 2 x 2 pixels."""
    n, channels, size, _ = images.shape
    squares = images.reshape(n, channels, size // 2, 2, size // 2, 2)
    averaged: Floats = squares.mean(axis=(3, 5), dtype=np.float32)
    return averaged


def _principal(x: Floats) -> Floats:
    """Project onto the first principal components."""
    x = x - x.mean(axis=0)
    _, vectors = np.linalg.eigh(np.asarray(x.T @ x, np.float64))
    projected: Floats = x @ vectors[:, ::-1][:, :_PIXELS].astype(np.float32)
    return projected

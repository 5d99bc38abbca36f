"""What is done to a set, kind by kind, and what the known tree says of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.damage.data import Floats, Ints, Sample
from sag_vicreg.structure import damage

NOISE = (0.1, 0.25, 0.5, 1.0, 2.0)
BITS = (8, 4, 2, 1)
SHUFFLED = (0.05, 0.1, 0.25, 0.5, 1.0)
CLUSTERS = (0.1, 0.2, 0.4, 0.8)
TIGHTENED = (1.5, 2.0, 4.0)

HARMLESS = (("rotation", "times 3"), ("noise", "1 %"), ("quantisation", "8 bits"))
UNRELATED = ("shuffled rows", "100 %")
KINDS = (
    "noise",
    "quantisation",
    "PCA truncation",
    "random projection",
    "shuffled rows",
    "scattered clusters",
    "merged clusters",
    "small clusters",
    "tightened clusters",
)
"""Kinds with levels, in the order of the page."""
NEW_POINTS = KINDS[:4]
WITH_TRUTH = KINDS[4:]


@dataclass(frozen=True, eq=False)
class Damaged:
    """A set after the damage.

    Attributes
    ----------
    kind, level : str
        What was done; levels of a kind are given in the order of growing damage.
    make : callable
        Returns the vectors.
    random : bool
        Whether the seed decides.
    paths : callable or None
        Returns the items' known clusters after the damage, where there are known clusters.
    """

    kind: str
    level: str
    make: Callable[[], Floats]
    random: bool = True
    paths: Callable[[], Ints] | None = None


def damaged_sets(sample: Sample, seed: int) -> Iterator[Damaged]:
    """Damage a set in every declared way, each kind's least damage first."""
    x = sample.x
    yield Damaged("rotation", "times 3", lambda: 3 * damage.rotate(x, seed=seed))
    for share in (0.01, *NOISE):
        yield Damaged("noise", percent(share), partial(damage.add_noise, x, share, seed=seed))
    for bits in BITS:
        level = f"{bits} bits" if bits > 1 else "1 bit"
        yield Damaged("quantisation", level, partial(damage.quantise, x, bits), random=False)
    for dims in sample.dimensions:
        kept = partial(damage.truncate, x, dims)
        yield Damaged("PCA truncation", f"to {dims}", kept, random=False)
    for dims in sample.dimensions:
        projected = partial(damage.project, x, dims, seed=seed)
        yield Damaged("random projection", f"to {dims}", projected)
    yield from shuffled_sets(sample, seed, SHUFFLED)
    yield from scattered_sets(sample, seed, CLUSTERS)
    yield from merged_sets(sample, seed, CLUSTERS)
    for level, inside in sample.small.items():
        permute = partial(damage.shuffle_inside, labels=inside, seed=seed)
        yield Damaged("small clusters", level, partial(permute, x), paths=_known(sample, permute))
    if sample.paths is not None:
        yield from tightened_sets(sample, seed, TIGHTENED)


def shuffled_sets(sample: Sample, seed: int, shares: tuple[float, ...]) -> Iterator[Damaged]:
    """Shuffle shares of the rows."""
    for share in shares:
        permute = partial(damage.shuffle_rows, share=share, seed=seed)
        yield Damaged(
            "shuffled rows",
            percent(share),
            partial(permute, sample.x),
            paths=_known(sample, permute),
        )


def scattered_sets(sample: Sample, seed: int, shares: tuple[float, ...]) -> Iterator[Damaged]:
    """Scatter shares of the clusters."""
    for share in shares:
        yield Damaged(
            "scattered clusters",
            percent(share),
            partial(damage.scatter_clusters, sample.x, sample.clusters, share, seed=seed),
            paths=_new_leaves(sample, partial(damage.scattered, share=share, seed=seed)),
        )


def merged_sets(sample: Sample, seed: int, shares: tuple[float, ...]) -> Iterator[Damaged]:
    """Merge shares of the clusters into others."""
    for share in shares:
        yield Damaged(
            "merged clusters",
            percent(share),
            partial(damage.merge_clusters, sample.x, sample.clusters, share, seed=seed),
            paths=_new_leaves(sample, partial(damage.merged, share=share, seed=seed)),
        )


def tightened_sets(sample: Sample, seed: int, factors: tuple[float, ...]) -> Iterator[Damaged]:
    """Shrink the known clusters of level 2 about their centres."""
    paths = sample.paths
    assert paths is not None
    for by in factors:
        yield Damaged(
            "tightened clusters",
            f"by {by:g}",
            partial(damage.tighten_clusters, sample.x, paths[:, 1], by, seed=seed),
            paths=lambda: paths,
        )


def truth(before: Ints, after: Ints) -> float:
    """Correlate, over all pairs, how many levels the items share before and after (Spearman)."""
    from scipy.stats import spearmanr

    pairs = np.triu_indices(len(before), 1)
    shared = [
        (paths[:, None] == paths[None]).sum(axis=2, dtype=np.int8)[pairs]
        for paths in (before, after)
    ]
    return float(spearmanr(*shared).statistic)


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:g} %"


def _known(
    sample: Sample, permute: Callable[..., npt.NDArray[np.int64]]
) -> Callable[[], Ints] | None:
    return None if sample.paths is None else partial(permute, sample.paths)


def _new_leaves(sample: Sample, goes_to: Callable[[Ints], Ints]) -> Callable[[], Ints] | None:
    """Say how to look up the known clusters of the leaf each item goes to."""
    paths = sample.paths
    if paths is None:
        return None
    _, member = np.unique(paths[:, 3], return_index=True)
    return lambda: paths[member[goes_to(sample.clusters)]]

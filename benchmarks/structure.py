"""The metric against the SciPy route and fastcluster, in time and in memory."""

import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, Target
from benchmarks.timing import peak_memory, take_turns
from sag_vicreg.errors import InputError
from sag_vicreg.structure.points import check_geometry

Floats = npt.NDArray[np.float64]

DIMENSIONS = 128
_GIGABYTE = 1e9
# What the project promises of large sets: gigabytes, and minutes where it promises any.
_LARGE: dict[tuple[int, str], tuple[float, float | None]] = {
    (50_000, "spherical"): (3.0, 6.0),
    (50_000, "cosine"): (12.0, None),
    (100_000, "spherical"): (8.0, None),
}


def two_sets(n: int) -> tuple[Floats, Floats]:
    """Make two sets that share a hierarchy: 100 classes in 20 groups, and a noisy image of them."""
    rng = np.random.default_rng(0)
    groups = 1.5 * rng.normal(size=(20, DIMENSIONS))
    classes = groups[rng.integers(20, size=100)] + rng.normal(size=(100, DIMENSIONS))
    a = classes[rng.integers(100, size=n)] + rng.normal(size=(n, DIMENSIONS))
    b = a @ rng.normal(size=(DIMENSIONS, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    return a, b + rng.normal(size=b.shape)


def scipy_route(sets: tuple[Floats, Floats]) -> Floats:
    """Take the five numbers with SciPy alone, on the merge heights: it knows no other LCA."""
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.spatial.distance import pdist
    from scipy.stats import kendalltau, pearsonr, spearmanr

    p1, p2 = (pdist(x, "cosine") for x in sets)
    d1, d2 = (cophenet(linkage(p, "ward")) for p in (p1, p2))
    return np.array(
        [
            pearsonr(d1, d2).statistic,
            spearmanr(d1, d2).statistic,
            kendalltau(d1, d2).statistic,
            pearsonr(d1, p2).statistic,
            pearsonr(d2, p1).statistic,
        ]
    )


def _scipy_correlations(linkages: list[Floats]) -> Floats:
    """Take the three LCA correlations of two given trees with SciPy."""
    from scipy.cluster.hierarchy import cophenet
    from scipy.stats import kendalltau, pearsonr, spearmanr

    d1, d2 = (cophenet(linkage) for linkage in linkages)
    return np.array([measure(d1, d2).statistic for measure in (pearsonr, spearmanr, kendalltau)])


def our_route(sets: tuple[Floats, Floats], lca: str = "level") -> Floats:
    """Take the five numbers with :func:`sag_vicreg.structure.compare`."""
    from sag_vicreg.structure import compare

    return compare(*sets, lca=lca, trees=0).values()


def _fastcluster_trees(sets: tuple[Floats, Floats]) -> list[Any]:
    import fastcluster
    from scipy.spatial.distance import pdist

    return [fastcluster.linkage(pdist(x, "cosine"), "ward") for x in sets]


def _warm(n: int) -> tuple[Floats, Floats]:
    """Make the sets with everything imported and compiled, so that only the run is measured."""
    import scipy.cluster.hierarchy
    import scipy.spatial.distance
    import scipy.stats  # noqa: F401

    small = two_sets(50)
    our_route(small)
    scipy_route(small)
    return two_sets(n)


class _Setup:
    """A picklable ``lambda: _warm(n)``."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self) -> tuple[Floats, Floats]:
        return _warm(self.n)


def run(*, n: int = 10_000, repeats: int = 3) -> Report:
    """Compare at ``n`` rows of 128 dimensions, candidates taking turns in one run."""
    if importlib.util.find_spec("fastcluster") is None:
        raise InputError(
            "benchmarks structure measures against fastcluster: pip install fastcluster"
        )
    import fastcluster

    from sag_vicreg.structure import lca_similarity, ward_tree

    sets = _warm(n)
    trees = [ward_tree(x) for x in sets]
    unit = sets[0] / np.linalg.norm(sets[0], axis=1, keepdims=True)
    apart = float(np.abs(our_route(sets, lca="height") - scipy_route(sets)).max())
    expected = fastcluster.linkage_vector(unit, "ward")
    heights = float(np.abs(ward_tree(unit, geometry="spherical").heights - expected[:, 2]).max())
    seconds = take_turns(
        {
            "SciPy": lambda: scipy_route(sets),
            "compare": lambda: our_route(sets),
            "SciPy correlations": lambda: _scipy_correlations([tree.linkage for tree in trees]),
            "LCA similarity": lambda: lca_similarity(trees[0], trees[1], lca="height"),
            "fastcluster vectors": lambda: fastcluster.linkage_vector(unit, "ward"),
            "spherical": lambda: ward_tree(unit, geometry="spherical"),
            "fastcluster matrix": lambda: _fastcluster_trees(sets),
            "cosine trees": lambda: [ward_tree(x) for x in sets],
        },
        repeats=repeats,
        warmup=0,
    )
    taken = {name: timing.median for name, timing in seconds.items()}
    memory = {
        name: peak_memory(_Setup(n), route)[0] / _GIGABYTE
        for name, route in (("SciPy", scipy_route), ("compare", our_route))
    }

    def row(what: str, peer: str, theirs: str, ours: str) -> tuple[str, ...]:
        gigabytes = (
            [f"{memory[name]:.2f}" for name in (theirs, ours)] if theirs in memory else ["", ""]
        )
        return (
            what,
            peer,
            f"{taken[theirs]:.2f}",
            f"{taken[ours]:.3g}",
            f"{taken[theirs] / taken[ours]:.3g}",
            *gigabytes,
        )

    return Report(
        title=f"Trees and similarities of two sets, n = {n:,}, d = {DIMENSIONS}",
        columns=("what", "peer", "peer s", "ours s", "ratio", "peer GB", "ours GB"),
        rows=[
            row("everything compare prints, cosine", "SciPy route", "SciPy", "compare"),
            row(
                "LCA of two given trees", "cophenet, stats", "SciPy correlations", "LCA similarity"
            ),
            row("two cosine trees", "pdist + fastcluster", "fastcluster matrix", "cosine trees"),
            row("one spherical tree", "linkage_vector", "fastcluster vectors", "spherical"),
        ],
        targets=[
            Target(
                "compare, times faster than the SciPy route", taken["SciPy"] / taken["compare"], 8
            ),
            Target(
                "compare, share of the SciPy route's peak memory",
                memory["compare"] / max(memory["SciPy"], 1e-3),
                0.2,
                at_least=False,
            ),
            Target(
                "spherical tree, times faster than fastcluster",
                taken["fastcluster vectors"] / taken["spherical"],
                5,
            ),
            Target("largest difference from SciPy's five numbers", apart, 1e-9, at_least=False),
            Target("largest difference from fastcluster's heights", heights, 1e-10, at_least=False),
        ],
    )


class _Large:
    """A picklable comparison in one geometry."""

    def __init__(self, geometry: str) -> None:
        self.geometry = geometry

    def __call__(self, sets: tuple[Floats, Floats]) -> None:
        from sag_vicreg.structure import compare

        compare(*sets, geometry=self.geometry, trees=0)


def run_large(*, n: int, geometry: str) -> Report:
    """Measure one comparison of two large sets, which no peer can do, in a process of its own."""
    check_geometry(geometry)
    peak, seconds = peak_memory(_Setup(n), _Large(geometry))
    gigabytes, minutes = peak / _GIGABYTE, seconds / 60
    most, longest = _LARGE.get((n, geometry), (None, None))
    targets = []
    if most is not None:
        targets.append(Target("peak memory, GB", gigabytes, most, at_least=False))
    if longest is not None:
        targets.append(Target("minutes", minutes, longest, at_least=False))
    return Report(
        title=f"Everything compare prints, n = {n:,}, d = {DIMENSIONS}, geometry {geometry}",
        columns=("n", "geometry", "minutes", "peak GB"),
        rows=[(f"{n:,}", geometry, f"{minutes:.2f}", f"{gigabytes:.2f}")],
        targets=targets,
    )

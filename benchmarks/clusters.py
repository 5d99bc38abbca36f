"""Trees of micro-clusters against exact trees of the same rows: how far apart, and how long."""

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from benchmarks.report import Report
from benchmarks.scale_accuracy import KINDS, Maker, cifar100, made
from sag_vicreg.artifacts import open_table
from sag_vicreg.passes import Passes
from sag_vicreg.progress import track
from sag_vicreg.structure.cluster_similarity import pair_table
from sag_vicreg.structure.lca import similarity_of
from sag_vicreg.structure.micro_clusters import MicroClusters, micro_clusters


def run(*, rows: int, clusters: int) -> Report:
    """Compare the tree of a set's micro-clusters with its exact tree."""
    lines: list[tuple[str, ...]] = []
    kinds: list[tuple[str, Maker]] = [(name, partial(made, name, rows)) for name in KINDS]
    kinds.append(("CIFAR-100", cifar100))
    for name, make in track(kinds, "kinds of data"):
        pair = make()
        if pair is None:
            lines.append((f"{name}: no images", "", "", "", "", ""))
            continue
        x = pair[0]
        start = time.process_time()
        micro = _clustered(x, clusters)
        seconds = time.process_time() - start
        counts = csr_array((np.ones(len(x), np.int64), (micro.labels, np.arange(len(x)))))
        found = similarity_of(pair_table(counts, micro, _exact(x)))
        lines.append(
            (
                f"{name}, {len(x):,} x {x.shape[1]}",
                f"{found.pearson:.3f}",
                f"{found.spearman:.3f}",
                f"{micro.within:.0%}",
                f"{seconds:.1f}",
                f"{time.process_time() - start - seconds:.0f}",
            )
        )
    return Report(
        f"the tree of {clusters:,} micro-clusters against the exact tree, size distance, spherical",
        ("data", "Pearson", "Spearman", "variance within", "CPU s, clusters", "CPU s, exact"),
        lines,
    )


def _clustered(x: npt.NDArray[Any], clusters: int) -> MicroClusters:
    with tempfile.TemporaryDirectory() as folder:
        np.save(path := Path(folder) / "x.npy", x)
        return micro_clusters(open_table(path), Passes(), clusters=clusters)


def _exact(x: npt.NDArray[Any]) -> MicroClusters:
    """Take every row for a cluster of its own."""
    points = x.astype(np.float64)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    n = len(points)
    return MicroClusters("spherical", points, np.ones(n, np.int64), np.empty(0, np.uint16), 0.0)

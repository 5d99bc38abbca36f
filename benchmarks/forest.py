"""The forest similarity against single trees and the obvious SciPy loop, and a first number."""

import statistics
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, Target
from benchmarks.structure import DIMENSIONS, two_sets
from benchmarks.timing import cpu_seconds, take_turns
from sag_vicreg.structure import compare, ward_forest
from sag_vicreg.structure.corrected import corrected_similarity
from sag_vicreg.structure.forest import TREES, Forest

Floats = npt.NDArray[np.float64]

FIRST_ROWS = 300
# What a person compares: two small files, and files too small for a forest.
_STARTS = (FIRST_ROWS, 3)


def scipy_loop(sets: tuple[Floats, Floats], halves: Forest) -> float:
    """Take the corrected score with SciPy and NumPy alone, as one would write it.

    Only which items are in which half comes from our forest, so that both sides build the same
    trees. ``cophenet`` writes the third column of a linkage matrix to the pairs that meet there:
    here the log size of the cluster.
    """
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.spatial.distance import pdist, squareform
    from scipy.stats import spearmanr

    n, upper = halves.n, np.triu_indices(halves.n, 1)
    averages = []
    for x in sets:
        rows = x[halves.items]
        sums, counts = np.zeros((2, n, n)), np.zeros((2, n, n))
        for split, half in enumerate(halves.half):
            for side in (0, 1):
                members = np.flatnonzero(half == side)
                merges = linkage(pdist(rows[members], "cosine"), "ward")
                merges[:, 2] = np.log(merges[:, 3]) / np.log(len(members))
                pairs = np.ix_(members, members)
                sums[split % 2][pairs] += squareform(cophenet(merges))
                counts[split % 2][pairs] += 1
        averages += [group[upper] for group in sums / np.maximum(counts, 1)]
    a1, a2, b1, b2 = averages
    across = (spearmanr(a1, b2).statistic + spearmanr(a2, b1).statistic) / 2
    within = spearmanr(a1, a2).statistic * spearmanr(b1, b2).statistic
    return float(across / np.sqrt(within))


def run(*, n: int = 10_000, loop_n: int = 2_000, repeats: int = 1, starts: int = 3) -> Report:
    """Time all in one run, candidates taking turns.

    Parameters
    ----------
    n
        Rows of the sets whose forests are timed against one tree of each.
    loop_n
        Rows of the sets whose forests SciPy builds too.
    repeats
        Repetitions, medians count.
    starts
        How often the command is started, at least as often as the rest is repeated.
    """
    large, small = two_sets(n), two_sets(loop_n)
    compare(*two_sets(FIRST_ROWS))  # loads what is compiled
    halves = ward_forest(small[0])
    apart = abs(scipy_loop(small, halves) - corrected_similarity(*small))
    looped = take_turns(
        {
            "SciPy loop": lambda: scipy_loop(small, halves),
            "forests": lambda: corrected_similarity(*small),
        },
        repeats=repeats,
        warmup=0,
    )
    timed = take_turns(
        {
            "single": lambda: compare(*large, trees=0),
            "forests": lambda: corrected_similarity(*large),
            "everything": lambda: compare(*large),
        },
        repeats=repeats,
        warmup=0,
    )
    single, forests, everything = (timing.median for timing in timed.values())
    loop, ours = (timing.median for timing in looped.values())
    first, tiny, numpy = first_numbers(max(starts, repeats))
    what = f"{TREES} half-trees of both sets and their score"
    return Report(
        title=f"Forest similarity, d = {DIMENSIONS}, cosine",
        columns=("what", "n", "seconds", "against", "its seconds", "ratio"),
        rows=[
            (what, f"{n:,}", f"{forests:.1f}", "compare, trees=0", *_against(single, forests)),
            (
                "compare, with interval and single trees",
                f"{n:,}",
                f"{everything:.1f}",
                "compare, trees=0",
                *_against(single, everything),
            ),
            (what, f"{loop_n:,}", f"{ours:.2f}", "SciPy loop", *_against(loop, ours)),
            (
                "`sag-vicreg compare` of two files, CPU",
                str(FIRST_ROWS),
                f"{first:.2f}",
                "import numpy, CPU",
                *_against(numpy, first),
            ),
            (
                "`sag-vicreg compare` of two files, CPU",
                "3",
                f"{tiny:.2f}",
                "import numpy, CPU",
                *_against(numpy, tiny),
            ),
        ],
        targets=[
            Target(f"{what}, times the single comparison", forests / single, 25, at_least=False),
            Target("forests, times faster than the SciPy loop", loop / ours, 6),
            Target("a first number, CPU seconds", first, 1.5, at_least=False),
            Target("largest difference from the SciPy loop", apart, 2e-4, at_least=False),
        ],
    )


def _against(peer: float, ours: float) -> tuple[str, str]:
    return f"{peer:.2f}", f"{max(peer, ours) / min(peer, ours):.3g}"


def first_numbers(repeats: int) -> tuple[float, float, float]:
    """Return CPU seconds of the command on two files of a few hundred and of three rows.

    And of importing NumPy, the least any such command needs: it tells how busy the machine was.
    """
    taken: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        commands = []
        for rows in _STARTS:
            files = [Path(name) / f"{which}{rows}.npy" for which in "ab"]
            for path, vectors in zip(files, two_sets(rows), strict=True):
                np.save(path, vectors)
            commands.append(["-m", "sag_vicreg", "compare", *map(str, files)])
        commands.append(["-c", "import numpy"])
        for _ in range(repeats):
            taken.append(tuple(cpu_seconds(words) for words in commands))
    first, tiny, numpy = (statistics.median(each) for each in zip(*taken, strict=True))
    return first, tiny, numpy

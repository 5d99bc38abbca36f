"""Structure against k-NN: the curves VICReg itself draws there, and who lies above them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from replication.contenders import CONTENDERS, SEEDS
from replication.measured import Results
from replication.references import PCA, ReferencePoint
from replication.screening import (
    BASELINE,
    Standing,
    standing,
)
from replication.stages import STEPS

# Lengths of VICReg's training that may be there: shorter ones are run for the curve alone.
LENGTHS = (100, 300, STEPS, 3_000, 10_000)
LONGER_SEEDS = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Point:
    """A place in the picture, mean over seeds, with the seeds' own places."""

    label: str
    knn: float
    forest: float
    seeds: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Curve:
    """Points that belong together, by rising k-NN; ``untrained`` where they cost no training."""

    name: str
    points: tuple[Point, ...]
    untrained: bool = False

    def at(self, knn: float) -> float | None:
        """Return the curve's forest similarity at this k-NN; None beyond its ends."""
        for left, right in pairwise(self.points):
            if left.knn <= knn <= right.knn:
                share = (knn - left.knn) / (right.knn - left.knn) if right.knn > left.knn else 0.5
                return left.forest + share * (right.forest - left.forest)
        return None


def _point(label: str, places: Sequence[tuple[float, float]]) -> Point:
    knn, forest = (fmean(values) for values in zip(*places, strict=True))
    return Point(label, knn, forest, tuple(places))


def _standing_point(label: str, row: Standing) -> Point:
    return _point(label, [(seed.knn, seed.forest) for seed in row.seeds])


def _by_knn(name: str, points: Iterable[Point], *, untrained: bool = False) -> Curve:
    return Curve(name, tuple(sorted(points, key=lambda point: point.knn)), untrained)


def vicreg_curves(results: Results, references: Iterable[ReferencePoint]) -> list[Curve]:
    """Draw VICReg by length of training, by principal components and by invariance weight.

    Each is as long as there are finished models; a curve of fewer than two points is left out.
    """
    lengths = {steps: standing(BASELINE, results, steps=steps, seeds=SEEDS) for steps in LENGTHS}
    for steps in LENGTHS:
        if steps > STEPS:
            lengths[steps] = standing(BASELINE, results, steps=steps, seeds=LONGER_SEEDS)
    plain = lengths[STEPS]
    by_length = [_standing_point(f"{n:,}", row) for n, row in lengths.items() if row.seeds]
    components: dict[int, list[tuple[float, float]]] = {}
    for point in references:
        if point.kind == PCA:
            components.setdefault(int(point.detail), []).append((point.knn, point.forest))
    by_components = [_point(f"{n}", places) for n, places in components.items()]
    by_weight = []
    for name, contender in CONTENDERS.items():
        if contender.role in ("curve", "control") and contender.method == "vicreg":
            row = standing(name, results)
            weight = contender.overrides[0].partition("=")[2]
            by_weight += [_standing_point(weight, row)] if row.seeds else []
    if plain.seeds:
        by_components += [_standing_point("all", plain)] if by_components else []
        by_weight += [_standing_point("25", plain)] if by_weight else []
    curves = [
        _by_knn("VICReg by steps of training", by_length),
        _by_knn(f"VICReg, {STEPS:,} steps, by components kept", by_components, untrained=True),
        _by_knn(f"VICReg, {STEPS:,} steps, by invariance weight", by_weight),
    ]
    return [curve for curve in curves if len(curve.points) > 1]


def gain(row: Standing, curves: Iterable[Curve]) -> float | None:
    """Return how far a contender lies above the highest of VICReg's curves at its k-NN.

    None where no curve reaches that k-NN.
    """
    heights = [height for curve in curves if (height := curve.at(row.knn)) is not None]
    return row.forest - max(heights) if heights else None

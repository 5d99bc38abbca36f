"""Lines of the page: loss terms over training, scores over levels and cluster counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.report.lines import ScoreLine
from sag_vicreg.report.sources import Model

MOST_POINTS = 400
TRAINING = {
    "loss": ("Loss", "What the optimiser sees: the weighted sum."),
    "invariance": ("Invariance", "How far paired embeddings are from each other."),
    "variance": ("Variance", "Hinge: 0 once every dimension varies enough."),
    "covariance": ("Covariance", "How much dimensions repeat each other."),
    "nontrivial": ("Non-trivial pairs", "Share of images the walk paired with another image."),
    "knn": ("k-NN accuracy", "Of probe images, at the finest level."),
    "rankme": ("RankMe", "How many directions the embedding uses."),
    "embedding_std": ("Spread", "1: evenly over the sphere; 0: collapsed."),
    "drift": ("Tree drift", "How far the tree moved since the last measurement."),
}
MEASURES = {
    "knn": "k-NN accuracy",
    "probe": "Linear probe accuracy",
    "rand": "Rand index",
    "ari": "Adjusted Rand index",
    "nmi": "Normalised mutual information",
}
# Bookkeeping of the trainer, not results.
SKIPPED = ("step", "epoch", "lr", "images_per_second")


@dataclass(frozen=True)
class Series:
    """One line; ``style`` numbers its colour, dash and marker."""

    name: str
    style: int
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None


@dataclass(frozen=True)
class Chart:
    """One small plot."""

    id: str
    group: str
    title: str
    note: str
    x_title: str
    series: tuple[Series, ...]
    x_ticks: Sequence[float] | None = None
    percent: bool = False


def training_charts(models: Sequence[Model]) -> list[Chart]:
    """One chart a logged quantity, one line a run, thinned to what a screen can show."""
    names = [n for n in TRAINING if any(n in m.metrics for m in models)]
    logged = dict.fromkeys(name for model in models for name in model.metrics)
    names += [name for name in logged if name not in TRAINING and name not in SKIPPED]
    charts: list[Chart] = []
    for name in names:
        series = []
        for style, model in enumerate(models):
            if name not in model.metrics:
                continue
            y = model.metrics[name]
            x = model.metrics.get("step", np.arange(len(y), dtype=np.float64))
            x, y = _thin(x, y)
            if len(y):
                series.append(Series(model.name, style, x.tolist(), y.tolist()))
        title, note = TRAINING.get(name, (name.replace("_", " "), ""))
        if series:
            chart_id = f"training-{len(charts)}"
            percent = name in ("nontrivial", "knn")
            charts.append(
                Chart(chart_id, "training", title, note, "step", tuple(series), None, percent)
            )
    return charts


def _thin(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average neighbouring rows down to ``MOST_POINTS``; rows without the quantity fall out."""
    known = np.isfinite(y) & np.isfinite(x)
    x, y = x[known], y[known]
    if len(y) <= MOST_POINTS:
        return x, y
    edges = np.linspace(0, len(y), MOST_POINTS + 1).astype(int)[:-1]
    width = np.diff(np.append(edges, len(y)))
    return np.add.reduceat(x, edges) / width, np.add.reduceat(y, edges) / width


def score_charts(lines: Sequence[ScoreLine]) -> list[Chart]:
    """Each measure over the levels, and the Rand index over the number of clusters."""
    charts: list[Chart] = []
    for kind, x_title in (("level", "level, 1 coarsest"), ("clusters", "number of clusters")):
        for measure, title in MEASURES.items():
            pattern = re.compile(rf"{measure}\.{kind}(\d+)$")
            series = []
            for line in lines:
                found = sorted(
                    (int(match[1]), key) for key in line.scores if (match := pattern.match(key))
                )
                if found:
                    spread = [line.spreads.get(key, 0.0) for _, key in found]
                    series.append(
                        Series(
                            line.name,
                            line.style,
                            [place for place, _ in found],
                            [line.scores[key] for _, key in found],
                            spread if any(spread) else None,
                        )
                    )
            if series:
                note = _rand_note(measure)
                ticks = sorted({int(x) for s in series for x in s.x}) if kind == "level" else None
                charts.append(
                    Chart(
                        f"levels-{len(charts)}",
                        "levels",
                        title if kind == "level" else f"{title} by number of clusters",
                        note,
                        x_title,
                        tuple(series),
                        ticks,
                        percent=measure in ("knn", "probe"),
                    )
                )
    return charts


def _rand_note(measure: str) -> str:
    if measure == "rand":
        return "Rises with the number of groups by itself: compare models, not levels."
    return ""

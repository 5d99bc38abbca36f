"""Lines of the page: loss terms over training, scores over levels and cluster counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.report.lines import ScoreLine
from sag_vicreg.report.sources import Model
from sag_vicreg.scores import BY_LEVEL, MEASURES, places

MOST_POINTS = 400
TRAINING = {
    "loss": ("Loss", "What the optimiser sees: the weighted sum."),
    "invariance": ("Invariance", "How far paired embeddings are from each other."),
    "variance": ("Variance", "Hinge: 0 once every dimension varies enough."),
    "covariance": ("Covariance", "How much dimensions repeat each other."),
    "nontrivial": ("Non-trivial pairs", "Share of images the walk paired with another image."),
    "knn": (MEASURES["knn"].title, "Of the images measured during training, at the finest level."),
    "rankme": (MEASURES["label_free.rankme"].title, "How many directions the embedding uses."),
    "embedding_std": ("Evenness", "1: evenly over the sphere; 0: collapsed."),
    "drift": ("Structure drift", "1 − forest similarity to the measurement before."),
}
# What the walk pairs, one line each; its classes by level follow.
WALK = {
    "nontrivial": "walks to another image",
    "own_view_nearest": "own view is the nearest",
    "own_view_near": "own view is among the k nearest",
    "pair_weight": "mean weight of a pair",
}
SAME_CLASS = re.compile(r"same_class_level(\d+)$")
X_TITLES: dict[Literal["level", "clusters"], str] = {
    "level": "level, 1 coarsest",
    "clusters": "number of clusters",
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
    deviations: Sequence[float] | None = None


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
    """One chart per logged quantity, one line per run, thinned to what a screen can show."""
    names = [n for n in TRAINING if any(n in m.metrics for m in models)]
    logged = dict.fromkeys(name for model in models for name in model.metrics)
    shown_elsewhere = {*TRAINING, *SKIPPED, *WALK}
    names += [n for n in logged if n not in shown_elsewhere and not SAME_CLASS.match(n)]
    charts: list[Chart] = []
    for name in names:
        lines = [_logged(model, name, model.name, style) for style, model in enumerate(models)]
        if series := tuple(filter(None, lines)):
            title, note = TRAINING.get(name, (name.replace("_", " "), ""))
            chart = Chart(f"training-{len(charts)}", "training", title, note, "step", series)
            charts.append(replace(chart, percent=name in ("nontrivial", "knn")))
    return charts


def walk_charts(models: Sequence[Model]) -> list[Chart]:
    """One chart per run that walks: who is paired, and whether own views are held."""
    charts: list[Chart] = []
    for model in models:
        if "own_view_nearest" not in model.metrics:
            continue
        levels = {n: found[1] for n in model.metrics if (found := SAME_CLASS.match(n))}
        titles = WALK | {n: f"partner of the same group, level {i}" for n, i in levels.items()}
        lines = [_logged(model, *names, style) for style, names in enumerate(titles.items())]
        if series := tuple(filter(None, lines)):
            chart_id = f"walk-{len(charts)}"
            charts.append(Chart(chart_id, "walk", model.name, "", "step", series, percent=True))
    return charts


def _logged(model: Model, name: str, title: str, style: int) -> Series | None:
    """Return the line of a logged quantity, if the run has any of it."""
    if name not in model.metrics:
        return None
    y = model.metrics[name]
    x, y = _thin(model.metrics.get("step", np.arange(len(y), dtype=np.float64)), y)
    return Series(title, style, x.tolist(), y.tolist()) if len(y) else None


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
    charts = [_score_chart(lines, measure, by) for by in X_TITLES for measure in BY_LEVEL]
    shown = filter(None, charts)
    return [replace(chart, id=f"levels-{place}") for place, chart in enumerate(shown)]


def _score_chart(
    lines: Sequence[ScoreLine], measure: str, by: Literal["level", "clusters"]
) -> Chart | None:
    """Return the chart of one measure, if any line has it."""
    series = []
    for line in lines:
        if found := places(line.scores, measure, by):
            deviations = [line.deviations.get(key, 0.0) for key in found.values()]
            values = [line.scores[key] for key in found.values()]
            known = deviations if any(deviations) else None
            series.append(Series(line.name, line.style, list(found), values, known))
    if not series:
        return None
    entry = MEASURES[measure]
    title = entry.title if by == "level" else f"{entry.title} by number of clusters"
    ticks = sorted({x for line in series for x in line.x}) if by == "level" else None
    percent = entry.unit == "percent"
    return Chart("", "levels", title, entry.caveat, X_TITLES[by], tuple(series), ticks, percent)

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
    "knn": (MEASURES["knn"].title, "Of probe images, at the finest level."),
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
    """One chart a logged quantity, one line a run, thinned to what a screen can show."""
    names = [n for n in TRAINING if any(n in m.metrics for m in models)]
    logged = dict.fromkeys(name for model in models for name in model.metrics)
    names += [n for n in logged if n not in TRAINING and n not in SKIPPED and not _of_walk(n)]
    charts: list[Chart] = []
    for name in names:
        series = []
        for style, model in enumerate(models):
            series += _logged(model, name, model.name, style)
        title, note = TRAINING.get(name, (name.replace("_", " "), ""))
        if series:
            chart_id = f"training-{len(charts)}"
            percent = name in ("nontrivial", "knn")
            charts.append(
                Chart(chart_id, "training", title, note, "step", tuple(series), None, percent)
            )
    return charts


def walk_charts(models: Sequence[Model]) -> list[Chart]:
    """One chart a run that walks: who is paired, and whether own views are held."""
    charts: list[Chart] = []
    for model in models:
        if "own_view_nearest" not in model.metrics:
            continue
        levels = {n: found[1] for n in model.metrics if (found := SAME_CLASS.match(n))}
        titles = WALK | {n: f"partner of the same group, level {i}" for n, i in levels.items()}
        series = [
            line
            for style, (name, title) in enumerate(titles.items())
            for line in _logged(model, name, title, style)
        ]
        if series:
            chart_id = f"walk-{len(charts)}"
            charts.append(
                Chart(chart_id, "walk", model.name, "", "step", tuple(series), percent=True)
            )
    return charts


def _of_walk(name: str) -> bool:
    return name in WALK or SAME_CLASS.match(name) is not None


def _logged(model: Model, name: str, title: str, style: int) -> list[Series]:
    """Return the line of a logged quantity, if the run has any of it."""
    if name not in model.metrics:
        return []
    y = model.metrics[name]
    x, y = _thin(model.metrics.get("step", np.arange(len(y), dtype=np.float64)), y)
    return [Series(title, style, x.tolist(), y.tolist())] if len(y) else []


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
    for measure in BY_LEVEL:
        charts += _score_chart(lines, measure, "level", "level, 1 coarsest")
    for measure in BY_LEVEL:
        charts += _score_chart(lines, measure, "clusters", "number of clusters")
    return [replace(chart, id=f"levels-{place}") for place, chart in enumerate(charts)]


def _score_chart(
    lines: Sequence[ScoreLine], measure: str, by: Literal["level", "clusters"], x_title: str
) -> list[Chart]:
    """Return the chart of one measure, if any line has it."""
    series = []
    for line in lines:
        if found := places(line.scores, measure, by):
            deviations = [line.deviations.get(key, 0.0) for key in found.values()]
            values = [line.scores[key] for key in found.values()]
            known = deviations if any(deviations) else None
            series.append(Series(line.name, line.style, list(found), values, known))
    if not series:
        return []
    entry = MEASURES[measure]
    title = entry.title if by == "level" else f"{entry.title} by number of clusters"
    ticks = sorted({x for line in series for x in line.x}) if by == "level" else None
    percent = entry.unit == "percent"
    return [Chart("", "levels", title, entry.caveat, x_title, tuple(series), ticks, percent)]

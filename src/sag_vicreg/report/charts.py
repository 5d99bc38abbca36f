"""Lines of the page: loss terms over training, scores over levels and cluster counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

import numpy as np

from sag_vicreg.report.lines import ScoreLines
from sag_vicreg.report.sources import Model
from sag_vicreg.report.tables import Cell, PageRow, PageTable, ScoreRow, number, plus_minus
from sag_vicreg.scores import BY_LEVEL, MEASURES, MISSING, places

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

    title: str
    note: str
    x_title: str
    series: tuple[Series, ...]
    x_ticks: Sequence[float] | None = None
    percent: bool = False

    def table(self) -> PageTable:
        """Lay its numbers out: a row per line, a column per place."""
        places = sorted({x for series in self.series for x in series.x})
        rows = []
        for series in self.series:
            said = map(plus_minus, series.deviations or repeat(None, len(series.x)))
            points = zip(series.x, series.y, said, strict=True)
            cells = {x: Cell(number(y), deviation) for x, y, deviation in points}
            rows.append(PageRow(series.name, tuple(cells.get(x, Cell(MISSING)) for x in places)))
        columns = tuple(f"{place:g}" for place in places)
        return PageTable(self.title, self.note, self.x_title, columns, tuple(rows))


@dataclass(frozen=True)
class ChartGroup:
    """Charts under one heading, with their numbers as tables where they are few."""

    id: str
    title: str
    about: str
    charts: Sequence[Chart]
    tables: Sequence[PageTable] = ()


def chart_groups(models: Sequence[Model], found: ScoreLines) -> list[ChartGroup]:
    """Draw what there is of scores by level, of walks and of training."""
    scores = score_charts(found.lines)
    groups = (
        ChartGroup(
            "levels",
            "Scores by level",
            "How well labels are recovered, from the coarsest level of the hierarchy to classes. "
            f"{found.common}".rstrip(),
            scores,
            [chart.table() for chart in scores],
        ),
        ChartGroup(
            "walk",
            "What the walk pairs",
            "Where the walk of each batch ended, and whether an image's two views still find each "
            "other: where its own view is no longer near, nothing holds them together. Groups of "
            "classes are watched, not learnt from; only pairs of two images count there.",
            walk_charts(models),
        ),
        ChartGroup(
            "training",
            "Training",
            "What was logged while the models were trained.",
            training_charts(models),
        ),
    )
    return [group for group in groups if group.charts]


def training_charts(models: Sequence[Model]) -> list[Chart]:
    """One chart per logged quantity, one line per run."""
    logged = dict.fromkeys(name for model in models for name in model.metrics)
    known = {*TRAINING, *SKIPPED, *WALK}
    others = {
        name: (name.replace("_", " "), "")
        for name in logged
        if name not in known and not SAME_CLASS.match(name)
    }
    charts = [
        Chart(
            title,
            note,
            "step",
            _logged([(model, name, model.name) for model in models]),
            percent=name in ("nontrivial", "knn"),
        )
        for name, (title, note) in (TRAINING | others).items()
    ]
    return [chart for chart in charts if chart.series]


def walk_charts(models: Sequence[Model]) -> list[Chart]:
    """One chart per run that walks: who is paired, and whether own views are held."""
    charts = []
    for model in models:
        if "own_view_nearest" in model.metrics:
            by_level = {
                name: f"partner of the same group, level {found[1]}"
                for name in model.metrics
                if (found := SAME_CLASS.match(name))
            }
            series = _logged([(model, name, title) for name, title in (WALK | by_level).items()])
            charts.append(Chart(model.name, "", "step", series, percent=True))
    return [chart for chart in charts if chart.series]


def _logged(quantities: Sequence[tuple[Model, str, str]]) -> tuple[Series, ...]:
    """Return the lines of quantities that runs have logged, each under a title.

    Neighbouring rows are averaged down to :data:`MOST_POINTS`; rows without the quantity fall out.
    """
    series = []
    for style, (model, name, title) in enumerate(quantities):
        if name in model.metrics:
            y = model.metrics[name]
            points = np.column_stack([model.metrics.get("step", np.arange(len(y))), y])
            points = points[np.isfinite(points).all(axis=1)]
            if len(points):
                edges = np.linspace(0, len(points), min(len(points), MOST_POINTS) + 1).astype(int)
                parts = np.split(points, edges[1:-1])
                means = np.round([part.mean(axis=0) for part in parts], 6)
                series.append(Series(title, style, *means.T.tolist()))
    return tuple(series)


def score_charts(lines: Sequence[ScoreRow]) -> list[Chart]:
    """Each measure over the levels, and the Rand index over the number of clusters."""
    charts = [_score_chart(lines, measure, by) for by in X_TITLES for measure in BY_LEVEL]
    return [chart for chart in charts if chart.series]


def _score_chart(
    lines: Sequence[ScoreRow], measure: str, by: Literal["level", "clusters"]
) -> Chart:
    series = []
    for style, line in enumerate(lines):
        if found := places(line.scores, measure, by):
            values = [line.scores[key] for key in found.values()]
            deviations = [line.deviations.get(key, 0.0) for key in found.values()]
            known = deviations if any(deviations) else None
            series.append(Series(line.name, style, list(found), values, known))
    entry = MEASURES[measure]
    title = entry.title if by == "level" else f"{entry.title} by number of clusters"
    ticks = sorted({x for line in series for x in line.x}) if by == "level" else None
    return Chart(title, entry.caveat, X_TITLES[by], tuple(series), ticks, entry.unit == "percent")

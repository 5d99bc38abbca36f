"""How ``sag-vicreg evaluate`` shows scores: tables on the terminal, panels of a figure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sag_vicreg.evaluation import Agreement, Evaluation
from sag_vicreg.evaluation.comparison import Group, best
from sag_vicreg.evaluation.rand import RAND_NOTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Name in the results, title, whether a percentage.
_MEASURES = (
    ("knn", "k-NN accuracy, percent", True),
    ("probe", "linear probe accuracy, percent", True),
    ("rand", "Rand index", False),
    ("ari", "adjusted Rand index", False),
    ("nmi", "normalised mutual information", False),
)
_WITHOUT_LEVELS = {
    "class_tree.pearson": "class tree, Pearson",
    "class_tree.spearman": "class tree, Spearman",
    "class_tree.kendall": "class tree, Kendall",
    "label_free.rankme": "RankMe",
    "label_free.alpha_req": "alpha-ReQ",
    "label_free.uniformity": "uniformity",
    "label_free.alignment": "alignment",
}
_AGREEMENT = {
    "rand": "Rand index",
    "by_chance": "  by chance",
    "adjusted_rand": "adjusted Rand",
    "nmi": "NMI",
}


def print_one(found: Evaluation, name: str, tree: str) -> None:
    """Print one evaluation: scores by level, by number of clusters, and without levels."""
    console = Console()
    table = _table(f"{escape(name)}, hierarchy {escape(tree)}", "", _level_titles(found))
    table.add_row("largest class, %", *_percents(found.majority), style="dim")
    if found.knn is not None:
        table.add_row("k-NN, %", *_percents(found.knn.accuracy))
    if found.probe is not None:
        table.add_row("linear probe, %", *_percents(found.probe.accuracy, found.probe.deviation))
    for measure, title in _AGREEMENT.items():
        scores = [f"{getattr(score, measure):.4f}" for score in found.rand.by_level]
        table.add_row(title, *scores, style="dim" if measure == "by_chance" else None)
    console.print(table)
    if found.rand.by_count:
        table = _table("finest level, by number of clusters", "clusters", _AGREEMENT.values())
        for score in found.rand.by_count:
            cells = [f"{getattr(score, measure):.4f}" for measure in _AGREEMENT]
            table.add_row(str(score.n_clusters), *cells)
        console.print(table)
    _print_without_levels(console, [Group(name, (found,))])
    _print_settings(console, [found])


def print_comparison(groups: Sequence[Group], tree: str) -> None:
    """Print a table a measure: a row a model, mean and spread over seeds, the best in bold."""
    console = Console()
    first = groups[0].members[0]
    levels = [f"level{level}" for level in range(1, len(first.n_classes) + 1)]
    for measure, title, percent in _MEASURES:
        names = [f"{measure}.{level}" for level in levels]
        if any(names[0] in group.scores() for group in groups):
            table = _table(f"{title}, hierarchy {escape(tree)}", "model", _level_titles(first))
            for group, cells in zip(groups, _cells(console, groups, names, percent), strict=True):
                table.add_row(_row_name(group), *cells)
            console.print(table)
    counts = [score.n_clusters for score in first.rand.by_count]
    for measure, title in (("rand", "Rand index"), ("ari", "adjusted Rand index")):
        rows = {f"{measure}.clusters{count}": str(count) for count in counts}
        _print_by_model(console, groups, f"{title}, finest level", "clusters", rows)
    _print_without_levels(console, groups)
    if not console.is_terminal:
        console.print("* the best", highlight=False)
    if any(len(group.members) > 1 for group in groups):
        console.print("mean ± deviation over as many seeds as the brackets say", highlight=False)
    _print_settings(console, [member for group in groups for member in group.members])


def draw(groups: Sequence[Group]) -> "Figure":
    """Draw what the tables say: scores by level, and Rand indices by number of clusters."""
    from sag_vicreg.figures.levels import (
        RAND_RISES,
        Curve,
        count_panel,
        draw_panels,
        level_panel,
    )

    first = groups[0].members[0]

    def curves(measure: str, places: Sequence[str]) -> list[Curve]:
        found = []
        for group in groups:
            scores, spreads = group.scores(), group.deviations()
            names = [f"{measure}.{place}" for place in places]
            if all(name in scores for name in names):
                deviations = [spreads[name] for name in names] if spreads else None
                found.append(Curve(group.name, [scores[name] for name in names], deviations))
        return found

    def chance(scores: Sequence[Agreement]) -> list[float]:
        return [score.by_chance for score in scores]

    levels = [f"level{level}" for level in range(1, len(first.n_classes) + 1)]
    counts = [score.n_clusters for score in first.rand.by_count]
    clusters = [f"clusters{count}" for count in counts]
    by_level: dict[str, dict[str, Any]] = {
        "knn": {"percent": True, "chance": first.majority},
        "probe": {"percent": True, "chance": first.majority},
        "rand": {"chance": chance(first.rand.by_level), "note": RAND_RISES},
        "ari": {},
    }
    titles = {"knn": "k-NN accuracy", "probe": "linear probe accuracy"}
    titles |= {"rand": "Rand index", "ari": "adjusted Rand index"}
    panels = [
        level_panel(titles[measure], lines, first.n_classes, **options)
        for measure, options in by_level.items()
        if (lines := curves(measure, levels))
    ]
    if counts:
        by_chance = chance(first.rand.by_count)
        rand, ari = curves("rand", clusters), curves("ari", clusters)
        panels += [
            count_panel(
                "Rand index, finest level", rand, counts, chance=by_chance, note=RAND_RISES
            ),
            count_panel("adjusted Rand index, finest level", ari, counts),
        ]
    return draw_panels(panels)


def _table(title: str, corner: str, columns: Any) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(corner, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", overflow="fold")
    return table


def _level_titles(found: Evaluation) -> list[str]:
    return [f"level {level}\n{n} classes" for level, n in enumerate(found.n_classes, start=1)]


def _row_name(group: Group) -> str:
    seeds = f" ({len(group.members)})" if len(group.members) > 1 else ""
    return escape(group.name) + seeds


def _percents(values: Sequence[float], deviations: Sequence[float] | None = None) -> list[str]:
    spreads: Sequence[float | None] = deviations or [None] * len(values)
    return [_shown(value, spread, True) for value, spread in zip(values, spreads, strict=True)]


def _cells(
    console: Console, groups: Sequence[Group], names: Sequence[str], percent: bool
) -> list[list[str]]:
    """Return the scores of each group, the best of each marked; in a pipe there is no bold."""
    mark = "[bold]{}[/]" if console.is_terminal else "*{}"
    winners = {name: best(groups, name) if len(groups) > 1 else () for name in names}
    rows = []
    for group in groups:
        scores, spreads = group.scores(), group.deviations()
        cells = {name: _shown(scores.get(name), spreads.get(name), percent) for name in names}
        rows.append(
            [mark.format(c) if group.name in winners[name] else c for name, c in cells.items()]
        )
    return rows


def _print_without_levels(console: Console, groups: Sequence[Group]) -> None:
    known = {name for group in groups for name in group.scores()}
    rows = {name: title for name, title in _WITHOUT_LEVELS.items() if name in known}
    _print_by_model(console, groups, "structure, and measures without labels", "", rows)


def _print_by_model(
    console: Console, groups: Sequence[Group], title: str, corner: str, rows: Mapping[str, str]
) -> None:
    """Print a column a model, for scores that are many."""
    if rows:
        table = _table(title, corner, map(_row_name, groups))
        columns = _cells(console, groups, list(rows), percent=False)
        for name, *cells in zip(rows.values(), *columns, strict=True):
            table.add_row(name, *cells)
        console.print(table)


def _print_settings(console: Console, every: Sequence[Evaluation]) -> None:
    first = every[0]
    training = f", {first.n_train:,} for training" if first.n_train else ""
    lines = [f"{first.n_test:,} test points{training}"]
    if first.knn is None or first.probe is None:
        lines.append(
            "no training embeddings, so no k-NN and no linear probe: give --train, or for a run "
            "make them by `sag-vicreg embed RUN --dataset NAME --split train`"
        )
    else:
        temperature = f", temperature {first.knn.temperature:g}" if first.knn.temperature else ""
        lines.append(f"k-NN: cosine, k = {first.knn.k}, {first.knn.vote} vote{temperature}")
        trainings = len(first.probe.seeds)
        shown = "mean and deviation" if len(every) == 1 else "mean"
        lines.append(
            "linear probe: "
            + ("one training" if trainings == 1 else f"{shown} of {trainings} trainings")
        )
    lines.append(f"clusters: spectral, {first.rand.n_neighbors} nearest neighbours by cosine")
    pieces = max(each.rand.components for each in every)
    if pieces > 1:
        lines.append(
            f"the graph of neighbours was in {pieces} pieces, tied by their nearest points"
        )
    if first.class_tree is not None:
        lines.append("class tree: LCA levels of the centroids' Ward tree against the hierarchy's")
    lines.append(RAND_NOTE)
    for line in lines:
        console.print(line, style="dim", highlight=False)


def _shown(value: float | None, deviation: float | None, percent: bool) -> str:
    if value is None:
        return "-"
    factor, digits = (100, 2) if percent else (1, 4 if deviation is None else 3)
    text = f"{factor * value:.{digits}f}"
    return text if deviation is None else f"{text} ± {factor * deviation:.{digits}f}"

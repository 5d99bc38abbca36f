"""How ``sag-vicreg evaluate`` shows scores: tables on the terminal, panels of a figure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sag_vicreg.cli.terminal import open_console, print_table
from sag_vicreg.evaluation import EvaluationScores
from sag_vicreg.evaluation.comparison import Group, best_groups
from sag_vicreg.scores import (
    BY_CLUSTERS,
    BY_LEVEL,
    MEASURES,
    MISSING,
    Measure,
    at_clusters,
    at_level,
    measure_of,
    places,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sag_vicreg.figures.levels import Curve

# What chance gives stands below what it is compared with.
_CHANCE = {"knn": "majority", "probe": "majority", "rand": "rand_by_chance"}
_BY_LEVEL = [each for each in MEASURES if each in {*BY_LEVEL, *_CHANCE.values()}]


def print_one(found: EvaluationScores, name: str, tree: str) -> None:
    """Print one evaluation: scores by level, by number of clusters, and without levels."""
    console, group = open_console(), Group(name, (found,))
    title = f"{escape(name)}, hierarchy {escape(tree)}"
    if len(found.n_classes) == 1:
        _print_by_model(console, [group], title, "", _flat_rows(group))
    else:
        table = _table(title, "", _level_titles(found))
        for measure in _BY_LEVEL:
            if keys := list(places(group.scores, measure, "level").values()):
                style = "dim" if MEASURES[measure].better is None else None
                (cells,) = _cells(console, [group], keys)
                table.add_row(_row_title(MEASURES[measure]), *cells, style=style)
        print_table(console, table)
        if found.rand.by_count:
            agreement = [each for each in _BY_LEVEL if each in found.rand.by_count[0].scores()]
            table = _table(
                "finest level, by number of clusters",
                "clusters",
                [MEASURES[each].short for each in agreement],
            )
            for count in places(group.scores, "rand", "clusters"):
                (cells,) = _cells(console, [group], [at_clusters(m, count) for m in agreement])
                table.add_row(str(count), *cells)
            print_table(console, table)
        _print_without_levels(console, [group])
    _print_settings(console, [found])


def print_comparison(groups: Sequence[Group], tree: str) -> None:
    """Print a table per measure: a row per model, averaged over seeds, the best in bold."""
    console = open_console()
    first = groups[0].members[0]
    title = f"hierarchy {escape(tree)}"
    if len(first.n_classes) == 1:
        _print_by_model(console, groups, title, "", _flat_rows(groups[0]))
    else:
        for measure in BY_LEVEL:
            keys = [at_level(measure, place) for place in range(1, len(first.n_classes) + 1)]
            if any(keys[0] in group.scores for group in groups):
                entry = MEASURES[measure]
                unit = ", percent" if entry.unit == "percent" else ""
                table = _table(f"{entry.title}{unit}, {title}", "model", _level_titles(first))
                for group, cells in zip(groups, _cells(console, groups, keys), strict=True):
                    table.add_row(_row_name(group), *cells)
                print_table(console, table)
        for measure in BY_CLUSTERS:
            keyed = places(groups[0].scores, measure, "clusters").items()
            rows = {key: str(count) for count, key in keyed}
            title = f"{MEASURES[measure].title}, finest level"
            _print_by_model(console, groups, title, "clusters", rows)
        _print_without_levels(console, groups)
    if not console.is_terminal:
        console.print("* the best", highlight=False)
    if any(len(group.members) > 1 for group in groups):
        console.print("mean ± deviation over as many seeds as the brackets say", highlight=False)
    _print_settings(console, [member for group in groups for member in group.members])


def draw(groups: Sequence[Group]) -> "Figure":
    """Draw what the tables say: scores by level, and Rand indices by number of clusters."""
    from sag_vicreg.figures.levels import Curve, count_panel, draw_panels, level_panel

    first, every = groups[0].members[0], [key for group in groups for key in group.scores]

    def curves(keys: Sequence[str]) -> "list[Curve]":
        return [
            Curve(group.name, [group.averages[key] for key in keys])
            for group in groups
            if all(key in group.scores for key in keys)
        ]

    panels = []
    for measure in [each for each in BY_LEVEL if each != "nmi"]:
        keys = places(every, measure, "level").values()
        if keys and (lines := curves(list(keys))):
            chance = _chance(groups[0], keys)
            panels.append(level_panel(MEASURES[measure], lines, first.n_classes, chance=chance))
    for measure in BY_CLUSTERS:
        if found := places(every, measure, "clusters"):
            lines, chance = curves(list(found.values())), _chance(groups[0], found.values())
            deep = len(first.n_classes) > 1
            panels.append(
                count_panel(MEASURES[measure], lines, list(found), chance=chance, levels=deep)
            )
    return draw_panels(panels)


def _chance(group: Group, keys: Iterable[str]) -> list[float] | None:
    """Return what chance alone gives, of the first model, where that is known."""
    pairs = (key.rsplit(".", 1) for key in keys)
    chances = [f"{_CHANCE.get(measure)}.{place}" for measure, place in pairs]
    known = all(key in group.scores for key in chances)
    return [group.scores[key] for key in chances] if known else None


def _table(title: str, corner: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(corner, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", overflow="fold")
    return table


def _level_titles(found: EvaluationScores) -> list[str]:
    return [f"level {level}\n{n} classes" for level, n in enumerate(found.n_classes, start=1)]


def _row_title(entry: Measure) -> str:
    return f"{entry.short}, %" if entry.unit == "percent" else entry.short


def _row_name(group: Group) -> str:
    seeds = f" ({len(group.members)})" if len(group.members) > 1 else ""
    return escape(group.name) + seeds


def _cells(console: Console, groups: Sequence[Group], keys: Sequence[str]) -> list[list[str]]:
    """Return the scores of each group, the best of each marked; in a pipe there is no bold."""
    mark = "[bold]{}[/]" if console.is_terminal else "*{}"
    winners = {key: best_groups(groups, key) if len(groups) > 1 else () for key in keys}
    return [
        [
            mark.format(shown) if group.name in winners[key] else shown
            for key in keys
            for shown in [_shown(group, key)]
        ]
        for group in groups
    ]


def _shown(group: Group, key: str) -> str:
    score, entry = group.averages.get(key), measure_of(key)
    if score is None:
        return MISSING
    digits = 2 if entry.unit == "percent" else 4 if score.deviation is None else 3
    parts = [part for part in (score.mean, score.deviation) if part is not None]
    return " ± ".join(f"{entry.factor * part:.{digits}f}" for part in parts)


def _flat_rows(group: Group) -> dict[str, str]:
    """Name every score where classes have no groups: one table holds them all."""
    rows: dict[str, str] = {}
    for measure in _BY_LEVEL:
        rows |= dict.fromkeys(
            places(group.scores, measure, "level").values(), _row_title(MEASURES[measure])
        )
    for measure in BY_CLUSTERS:
        for count, key in places(group.scores, measure, "clusters").items():
            rows[key] = f"{MEASURES[measure].short}, {count} clusters"
    return rows | _without_levels([group])


def _without_levels(groups: Sequence[Group]) -> dict[str, str]:
    chosen = [key for key in MEASURES if key.startswith(("class_tree.", "label_free."))]
    chosen += dict.fromkeys(key for group in groups for each in group.members for key in each.own)
    present = (key for key in chosen if any(key in group.scores for group in groups))
    return {key: measure_of(key).title for key in present}


def _print_without_levels(console: Console, groups: Sequence[Group]) -> None:
    _print_by_model(
        console, groups, "structure, and measures without labels", "", _without_levels(groups)
    )


def _print_by_model(
    console: Console, groups: Sequence[Group], title: str, corner: str, rows: Mapping[str, str]
) -> None:
    """Print a column per model, for scores that are many."""
    if rows:
        table = _table(title, corner, map(_row_name, groups))
        columns = _cells(console, groups, list(rows))
        for name, *cells in zip(rows.values(), *columns, strict=True):
            table.add_row(name, *cells)
        print_table(console, table)


def _print_settings(console: Console, every: Sequence[EvaluationScores]) -> None:
    first = every[0]
    training = f", {first.n_train:,} for training" if first.n_train else ""
    lines = [f"{first.n_test:,} test points of {first.n_classes[-1]:,} classes{training}"]
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
    shown_keys = (key for each in every for key in each.scores())
    lines += dict.fromkeys(caveat for key in shown_keys if (caveat := measure_of(key).caveat))
    for line in lines:
        console.print(line, style="dim", highlight=False)

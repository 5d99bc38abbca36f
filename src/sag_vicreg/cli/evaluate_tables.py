"""How ``sag-vicreg evaluate`` shows scores: tables on the terminal, panels of a figure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.text import Text

from sag_vicreg.cli.terminal import open_console, print_table, titled_table
from sag_vicreg.evaluation import EvaluationScores
from sag_vicreg.evaluation.comparison import Group, best_groups
from sag_vicreg.scores import (
    BY_CLUSTERS,
    BY_LEVEL,
    MEASURES,
    MISSING,
    at_clusters,
    at_level,
    measure_of,
    places,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What chance gives stands below what it is compared with.
_CHANCE = {"knn": "majority", "probe": "majority", "rand": "rand_by_chance"}
_DRAWN: tuple[tuple[str, Literal["level", "clusters"]], ...] = (
    *((measure, "level") for measure in BY_LEVEL if measure != "nmi"),
    *((measure, "clusters") for measure in BY_CLUSTERS),
)
_BY_LEVEL = [each for each in MEASURES if each in {*BY_LEVEL, *_CHANCE.values()}]


def print_scores(groups: Sequence[Group], tree: str) -> None:
    """Print one evaluation by its levels, or several side by side, the best in bold."""
    console = open_console()
    every = [member for group in groups for member in group.members]
    title = f"{groups[0].name}, hierarchy {tree}" if len(every) == 1 else f"hierarchy {tree}"
    if len(every[0].n_classes) == 1:
        _print_by_model(console, groups, title, "", _flat_rows(groups[0]))
    else:
        if len(every) == 1:
            _print_levels(console, groups[0], title)
        else:
            _print_models(console, groups, title)
        rows = _without_levels(groups)
        _print_by_model(console, groups, "structure, and measures without labels", "", rows)
    if len(every) > 1 and not console.is_terminal:
        console.print("* the best")
    if any(len(group.members) > 1 for group in groups):
        console.print("mean ± deviation over as many seeds as the brackets say")
    _print_settings(console, every)


def _print_levels(console: Console, group: Group, title: str) -> None:
    """Print the only evaluation: a row per measure, then one per number of clusters."""
    found = group.members[0]
    rows = []
    for measure in _BY_LEVEL:
        if keys := places(group.scores, measure, "level").values():
            style = "dim" if MEASURES[measure].better is None else ""
            cells = (_row_title(measure), *(_shown(group, key) for key in keys))
            rows.append([Text(cell, style) for cell in cells])
    print_table(console, titled_table(title, ["", *_level_titles(found)], rows))
    if found.rand.by_count:
        agreement = [each for each in _BY_LEVEL if each in found.rand.by_count[0].scores()]
        head = ["clusters", *(MEASURES[each].short for each in agreement)]
        by_count = [
            (str(count), *(_shown(group, at_clusters(each, count)) for each in agreement))
            for count in places(group.scores, "rand", "clusters")
        ]
        print_table(console, titled_table("finest level, by number of clusters", head, by_count))


def _print_models(console: Console, groups: Sequence[Group], title: str) -> None:
    """Print a table per measure: rows are models, or columns where cluster counts are rows."""
    first = groups[0].members[0]
    for measure in BY_LEVEL:
        keys = [at_level(measure, place) for place in range(1, len(first.n_classes) + 1)]
        if any(keys[0] in group.scores for group in groups):
            entry = MEASURES[measure]
            unit = ", percent" if entry.unit == "percent" else ""
            head = ["model", *_level_titles(first)]
            rows = [
                (_row_name(group), *(_ranked(console, groups, group, key) for key in keys))
                for group in groups
            ]
            print_table(console, titled_table(f"{entry.title}{unit}, {title}", head, rows))
    for measure in BY_CLUSTERS:
        counts = {key: str(n) for n, key in places(groups[0].scores, measure, "clusters").items()}
        finest = f"{MEASURES[measure].title}, finest level"
        _print_by_model(console, groups, finest, "clusters", counts)


def draw(groups: Sequence[Group]) -> "Figure":
    """Draw what the tables say: scores by level, and Rand indices by number of clusters."""
    from sag_vicreg.figures.levels import Curve, count_panel, draw_panels, level_panel

    sizes = groups[0].members[0].n_classes
    every = [key for group in groups for key in group.scores]
    panels = []
    for measure, by in _DRAWN:
        found = places(every, measure, by)
        curves = [
            Curve(group.name, [group.averages[key] for key in found.values()])
            for group in groups
            if found and all(key in group.scores for key in found.values())
        ]
        # What chance alone gives, of the first model, where that is known.
        chances = places(groups[0].scores, _CHANCE.get(measure, ""), by)
        chance = (
            [groups[0].scores[chances[place]] for place in found]
            if chances.keys() >= found.keys()
            else None
        )
        if curves and by == "level":
            panels.append(level_panel(MEASURES[measure], curves, sizes, chance=chance))
        elif curves:
            panels.append(
                count_panel(
                    MEASURES[measure], curves, list(found), chance=chance, levels=len(sizes) > 1
                )
            )
    return draw_panels(panels)


def _level_titles(found: EvaluationScores) -> list[str]:
    return [f"level {level}\n{n} classes" for level, n in enumerate(found.n_classes, start=1)]


def _row_title(measure: str) -> str:
    unit = ", %" if MEASURES[measure].unit == "percent" else ""
    return MEASURES[measure].short + unit


def _row_name(group: Group) -> str:
    return f"{group.name} ({len(group.members)})" if len(group.members) > 1 else group.name


def _shown(group: Group, key: str) -> str:
    score, entry = group.averages.get(key), measure_of(key)
    if score is None:
        return MISSING
    digits = 2 if entry.unit == "percent" else 4 if score.deviation is None else 3
    parts = [part for part in (score.mean, score.deviation) if part is not None]
    return " ± ".join(f"{entry.factor * part:.{digits}f}" for part in parts)


def _ranked(console: Console, groups: Sequence[Group], group: Group, key: str) -> str | Text:
    """Return a group's score, the best of several marked; in a pipe there is no bold."""
    shown = _shown(group, key)
    if len(groups) == 1 or group.name not in best_groups(groups, key):
        return shown
    return Text(shown, "bold") if console.is_terminal else f"*{shown}"


def _flat_rows(group: Group) -> dict[str, str]:
    """Name every score where classes have no groups: one table holds them all."""
    by_level = {
        key: _row_title(measure)
        for measure in _BY_LEVEL
        for key in places(group.scores, measure, "level").values()
    }
    by_count = {
        key: f"{MEASURES[measure].short}, {count} clusters"
        for measure in BY_CLUSTERS
        for count, key in places(group.scores, measure, "clusters").items()
    }
    return by_level | by_count | _without_levels([group])


def _without_levels(groups: Sequence[Group]) -> dict[str, str]:
    chosen = [key for key in MEASURES if key.startswith(("class_tree.", "label_free."))]
    chosen += dict.fromkeys(key for group in groups for each in group.members for key in each.own)
    return {
        key: measure_of(key).title for key in chosen if any(key in group.scores for group in groups)
    }


def _print_by_model(
    console: Console, groups: Sequence[Group], title: str, corner: str, rows: Mapping[str, str]
) -> None:
    """Print a column per model, for scores that are many; nothing where there are none."""
    if rows:
        cells = [
            (name, *(_ranked(console, groups, group, key) for group in groups))
            for key, name in rows.items()
        ]
        print_table(console, titled_table(title, [corner, *map(_row_name, groups)], cells))


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
        trainings = len(first.probe.seeds)
        shown = "mean and deviation" if len(every) == 1 else "mean"
        lines += [
            f"k-NN: cosine, k = {first.knn.k}, {first.knn.vote} vote{temperature}",
            "linear probe: "
            + ("one training" if trainings == 1 else f"{shown} of {trainings} trainings"),
        ]
    lines.append(f"clusters: spectral, {first.rand.n_neighbors} nearest neighbours by cosine")
    pieces = max(each.rand.components for each in every)
    if pieces > 1:
        lines.append(
            f"the graph of neighbours was in {pieces} pieces, tied by their nearest points"
        )
    shown_keys = (key for each in every for key in each.scores())
    lines += dict.fromkeys(caveat for key in shown_keys if (caveat := measure_of(key).caveat))
    console.print("\n".join(lines), style="dim")

"""Figures 4a and 4b from saved results: Rand index by level and by number of clusters."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from sag_vicreg.artifacts import Result, Run, read_results
from sag_vicreg.errors import InputError
from sag_vicreg.figures.levels import Curve, count_panel, draw_panels, level_panel
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import METHOD_LABELS
from sag_vicreg.reproduce.tables import average, of_method
from sag_vicreg.scores import BY_CLUSTERS, CLUSTER_COUNTS, MEASURES, at_clusters, at_level


def rand_results(folders: Sequence[Path]) -> list[Result]:
    """Read what `reproduce fig4a` has left in its folder, or what was published."""
    for folder in folders:
        if Run(folder).recipe.is_file():
            raise InputError(
                f"{folder} is a run folder, and this figure is drawn from results: name a folder "
                "that `sag-vicreg reproduce fig4a` wrote"
            )
    # A reproduction keeps other files beside its results.
    places = [own if (own := folder / "results").is_dir() else folder for folder in folders]
    found = [r for r in read_results(places).values() if r.kind == "rand" and r.failure is None]
    if not found:
        where = ", ".join(map(str, folders)) or "nowhere"
        raise InputError(f"no Rand results in {where}: `sag-vicreg reproduce fig4a` makes them")
    if len({result.images["dataset"] for result in found}) > 1:
        raise InputError("the Rand results are of several datasets: name one at a time")
    return found


def _curves(results: Sequence[Result], keys: Sequence[str]) -> list[Curve]:
    averages = {
        method: [average(of_method(results, method), key) for key in keys]
        for method in METHOD_LABELS
    }
    return [
        Curve(METHOD_LABELS[method], [score for score in scores if score is not None])
        for method, scores in averages.items()
        if any(scores)
    ]


def draw_rand_levels(results: Sequence[Result]) -> Figure:
    """Figure 4a: as many clusters as the level has classes."""
    hierarchy = load_hierarchy(results[0].images["dataset"])
    sizes = [len(hierarchy.names_at(level)) for level in hierarchy.levels]
    keys = {measure: [at_level(measure, n) for n in hierarchy.levels] for measure in BY_CLUSTERS}
    return draw_panels(
        [level_panel(MEASURES[each], _curves(results, keys[each]), sizes) for each in BY_CLUSTERS]
    )


def draw_rand_clusters(results: Sequence[Result]) -> Figure:
    """Figure 4b: the finest level against a range of cluster counts."""
    counts = [n for n in CLUSTER_COUNTS if at_clusters("rand", n) in results[0].scores]
    keys = {measure: [at_clusters(measure, n) for n in counts] for measure in BY_CLUSTERS}
    return draw_panels(
        [count_panel(MEASURES[each], _curves(results, keys[each]), counts) for each in BY_CLUSTERS]
    )

"""The page's sentences: what is compared, of how much, and what is not shown and why."""

from collections.abc import Sequence

from sag_vicreg.evaluation.plane import FEWEST_FOR_UMAP
from sag_vicreg.report.points import Points
from sag_vicreg.report.sources import Sources, method_label
from sag_vicreg.report.trees import Trees
from sag_vicreg.structure.forest import FEWEST_ROWS
from sag_vicreg.structure.points import FEWEST_POINTS

COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six")


def page_title(sources: Sources, halves: Sequence[str]) -> str:
    """Name the page after what is in it."""
    if halves:
        return f"{_listed(halves)} on classes they never saw"
    methods = list(dict.fromkeys(method_label(result.method) for result in sources.results))
    if methods:
        return f"{_listed(methods)}, reproduced"
    models = sources.models
    if len(models) == 1 and models[0].recipe:
        return f"{models[0].name} on {models[0].recipe.dataset.name}"
    few = len(models) <= 2
    return _listed([m.name for m in models]) if few else f"{len(models)} models compared"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lead(sources: Sources, points: Points | None) -> str:
    """One sentence of facts under the title."""
    if points is None:
        counts = {"run": len(sources.models), "result": len(sources.results)}
        said = [f"{n} {what}{'s' if n > 1 else ''}" for what, n in counts.items() if n]
        return f"{_listed(said)}, without embeddings."
    n, shown = points.drawn_from or len(points), len(points.models)
    embedded = f"{COUNTS[shown]} models embed the same" if shown > 1 else "One model embeds"
    classes = f" of {len(points.classes)} classes" if points.classes else ""
    origin = next((m.recipe.dataset.name for m in points.models if m.recipe), None)
    held_out = "held-out " if origin and points.held_out else ""
    source = f" ({origin})" if classes else f" of {origin}"
    return f"{embedded} {n:,} {held_out}{points.noun}s{classes}{source if origin else ''}."


def notices(
    sources: Sources, points: Points | None, shown: int, trees: Trees | None, *, has_images: bool
) -> list[str]:
    """Say what the page leaves out, and what would bring it back."""
    found = []
    unfinished = [str(model.path) for model in sources.models if not model.embeddings]
    if unfinished:
        found.append(
            f"No embeddings yet in {', '.join(unfinished)}: `sag-vicreg embed` writes them, and "
            "trees, map and neighbours appear here."
        )
    if sources.failures:
        stopped = ", ".join(f"{method_label(r.method)} seed {r.seed}" for r in sources.failures)
        found.append(f"Not in the averages, as the training stopped itself: {stopped}.")
    if points is None:
        return found
    embedded = sum(bool(model.embeddings) for model in sources.models)
    if embedded > len(points.models):
        found.append(
            f"Similarities, trees, map and neighbours are of {len(points.models)} of {embedded} "
            "models: name those you want to see."
        )
    if points.drawn_from and points.drawn_from > len(points):
        found.append(
            f"Scores, map and neighbours are of {len(points):,} random rows of "
            f"{points.drawn_from:,}; “All rows” is of all. `sag-vicreg compare` scores them all."
        )
    if points.left_out:
        found.append(f"{points.left_out:,} rows whose id not every model has are left out.")
    if points.by_position:
        found.append("Only some of the files have ids: rows were matched by position.")
    if shown < len(points):
        evenly = ", spread evenly over the classes" if points.classes else ""
        found.append(
            f"Map and neighbours show {shown:,} of {len(points):,} {points.noun}s{evenly}; "
            "scores are of all."
        )
    if shown < FEWEST_POINTS:
        found.append(
            f"Too few {points.noun}s: scores, trees, map and neighbours need {FEWEST_POINTS}, a "
            f"forest {FEWEST_ROWS}."
        )
    elif trees is None:
        found.append("There are no trees: in one of the models vectors are zero or all alike.")
    if trees and trees.classes and len(trees.classes) < len(points.classes):
        found.append(f"The trees show {len(trees.classes)} of {len(points.classes)} classes.")
    if points.labels is None:
        recur = trees is not None and trees.nouns[0] == "branch"
        leaves = "branches that recur" if recur else f"single {points.noun}s"
        found.append(f"The embeddings have no labels: trees are of {leaves}, in one colour.")
    if not has_images and points.noun == "image":
        found.append("There are no thumbnails beside the embeddings: marks stand for the images.")
    return found


def about_trees(points: Points, trees: Trees) -> dict[str, str]:
    """Title and reading aid of the trees."""
    by_class = trees.classes is not None
    leaves = "class centroids" if by_class else f"{len(trees.leaves)} {trees.nouns[1]}"
    if trees.nouns[0] == "branch":
        whose = "" if len(points.models) == 1 else " of the first model"
        leaves = f"the centroids of {leaves}{whose}"
    how = f"Ward trees over {leaves}, cosine geometry; branch length is merge height."
    if len(points.models) == 1:
        return {"title": "Class tree" if by_class else "Tree", "about": how}
    return {
        "title": f"{'Class trees' if by_class else 'Trees'}, face to face",
        "about": f"{how} Branches are turned so that few lines cross; turning changes nothing. "
        "Hover a leaf for examples; click a branch to find its members in the other tree.",
    }


def about_map(points: Points, shown: int) -> dict[str, object]:
    """Explain how to read the map."""
    method = "UMAP on cosine distances" if shown >= FEWEST_FOR_UMAP else "The two principal axes"
    return {
        "about": f"{method}, each model on its own: neighbourhoods can be compared, positions and "
        f"axes cannot. Hovering one map rings the same {points.noun} in the other.",
        "centroids": len(points.classes) > 1,
    }


def about_neighbours(points: Points) -> str:
    """Explain how to read the neighbours."""
    marks = " A frame and ✓ mark those of the same group at the chosen level."
    return (
        f"The {points.noun}s nearest to one {points.noun} by cosine, under each model."
        f"{'' if points.labels is None else marks}"
    )

"""The paper's figures: what each is drawn from, gathered from run folders and saved results.

What a figure shows is computed once and can be kept as a file (:mod:`sag_vicreg.figures.data`),
from which it is drawn again without the models and without PyTorch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.figure import Figure

from sag_vicreg.artifacts import Result, Run, Source, distinct_names
from sag_vicreg.errors import InputError, check_name, require_train_extra
from sag_vicreg.figures.centroids import Centroids
from sag_vicreg.figures.data import SUFFIX, FigureData, check_keepable
from sag_vicreg.figures.pairs import ImagePairs
from sag_vicreg.figures.query import Query
from sag_vicreg.figures.reconstructions import Reconstructions
from sag_vicreg.figures.separability import Separability, separability
from sag_vicreg.figures.unseen_cluster import UnseenCluster
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce.centroids import lay_out_centroids
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.query import rank_images
from sag_vicreg.reproduce.rand_figures import (
    draw_rand_clusters,
    draw_rand_levels,
    rand_results,
)
from sag_vicreg.reproduce.reconstructions import reconstruct
from sag_vicreg.reproduce.unseen_cluster import unseen_cluster
from sag_vicreg.reproduce.walks import walk_pairs

# Models of these are shown on Caltech-256, as in the paper's figure 6.
_OF_PHOTOGRAPHS = ("imagenet100", "imagenet1k", "cifar100", "caltech256")
# How many run folders a figure needs at least, and which take no more than one.
_RUNS_NEEDED = {"query": 2, "pairs": 1, "centroids": 1, "reconstructions": 1}
_OF_ONE_RUN = ("pairs", "reconstructions")


@dataclass(frozen=True)
class FigureSources:
    """What a figure is drawn from: run folders, and the images they embed where it needs any."""

    runs: Sequence[Path] = ()
    dataset: str | None = None
    classes: str | None = None
    query: str | None = None
    seed: int = 0
    count: int = 5


def _open_runs(figure: str, folders: Sequence[Path]) -> list[Run]:
    """Open the runs a figure is drawn from; refuse too few of them, or too many."""
    least = _RUNS_NEEDED.get(figure, 0)
    if len(folders) < least:
        what = "a run folder" if least == 1 else "the run folders of two or more models"
        raise InputError(
            f"figure {figure} is drawn from {what}, and {len(folders) or 'none'} was "
            f"given: `sag-vicreg figure {figure} {' '.join(['RUN'] * least)}`"
        )
    if figure in _OF_ONE_RUN and len(folders) > 1:
        raise InputError(f"figure {figure} is drawn from one run folder: name one at a time")
    if figure != "separability":  # of points alone
        require_train_extra(f"figure {figure}")
    return [Run.open(folder) for folder in folders] if least else []


def _unseen_images(sources: FigureSources, recipe: Recipe) -> ImageSet:
    """Return what the user asked for; else the half of the classes the model has not seen.

    Of a dataset the model was not trained on that is all of them.
    """
    dataset = sources.dataset or recipe.dataset.name
    others = {"first": "second", "second": "first"} if dataset == recipe.dataset.name else {}
    unseen = others.get(str(recipe.dataset.classes), "all")
    return ImageSet(dataset, sources.classes or unseen)


def _trained_on(recipe: Recipe) -> str:
    half = recipe.dataset.classes
    return recipe.dataset.name + (f", {half} half" if half in ("first", "second") else "")


def _with_runs(titles: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Name each run by its title and its folder."""
    names = distinct_names([Source(folder.resolve()) for folder in folders])
    return [f"{title} ({name})" for title, name in zip(titles, names, strict=True)]


def _query(runs: Sequence[Run], sources: FigureSources) -> Query:
    recipes = [run.read_recipe() for run in runs]
    return rank_images(
        runs,
        _with_runs([recipe.method.title() for recipe in recipes], sources.runs),
        _unseen_images(sources, recipes[0]),
        split_seed=recipes[0].dataset.seed,
        query=sources.query,
        count=sources.count,
        seed=sources.seed,
    )


def _pairs(runs: Sequence[Run], sources: FigureSources) -> ImagePairs:
    title = runs[0].read_recipe().method.title()
    return walk_pairs(runs[0], title, count=sources.count, seed=sources.seed)


def _centroids(runs: Sequence[Run], sources: FigureSources) -> Centroids:
    recipes = [run.read_recipe() for run in runs]
    trained_on = recipes[0].dataset.name
    # The paper shows classes of another dataset; a model of anything else shows its own.
    shown = sources.dataset or ("caltech256" if trained_on in _OF_PHOTOGRAPHS else trained_on)
    images = _unseen_images(replace(sources, dataset=shown), recipes[0])
    titles = [f"{recipe.method.title()}, trained on {_trained_on(recipe)}" for recipe in recipes]
    if len(set(titles)) < len(titles):
        titles = _with_runs(titles, sources.runs)
    return lay_out_centroids(runs, titles, images, seed=sources.seed)


COMPUTED: Mapping[
    str, tuple[type[FigureData], Callable[[Sequence[Run], FigureSources], FigureData]]
] = {
    "spectral": (UnseenCluster, lambda runs, sources: unseen_cluster(seed=sources.seed)),
    "query": (Query, _query),
    "pairs": (ImagePairs, _pairs),
    "separability": (Separability, lambda runs, sources: separability(seed=sources.seed)),
    "centroids": (Centroids, _centroids),
    # Not the paper's: an MAE's progress.
    "reconstructions": (
        Reconstructions,
        lambda runs, sources: reconstruct(runs[0], count=sources.count, seed=sources.seed),
    ),
}
"""Figures whose data is computed: what holds it, and what computes it."""
FROM_RESULTS: Mapping[str, Callable[[Sequence[Result]], Figure]] = {
    "rand-levels": draw_rand_levels,
    "rand-clusters": draw_rand_clusters,
}
"""Figures of saved results."""
# The numbers printed in the paper.
NUMBERS = {
    "1": "spectral",
    "2": "query",
    "3": "pairs",
    "4a": "rand-levels",
    "4b": "rand-clusters",
    "5": "separability",
    "6": "centroids",
}


def figure_name(name: str) -> str:
    """Return the figure of this name or printed number; refuse what is neither."""
    check_name("figure", name, [*COMPUTED, *FROM_RESULTS, *NUMBERS])
    return NUMBERS.get(name, name)


def draw_figure(name: str, sources: FigureSources, *, keep: Path | None = None) -> Figure:
    """Draw a figure by its name or its printed number.

    Where its data is computed, it is written to ``keep``; given the path of such a file instead of
    run folders, the figure is drawn from that.
    """
    name = figure_name(name)
    if name in FROM_RESULTS:
        return FROM_RESULTS[name](rand_results(sources.runs))
    holder, compute = COMPUTED[name]
    if len(sources.runs) == 1 and sources.runs[0].suffix == SUFFIX:
        return holder.read(sources.runs[0]).draw()
    if keep is not None:
        check_keepable(keep)
    data = compute(_open_runs(name, sources.runs), sources)
    if keep is not None:
        data.write(keep)
    return data.draw()

"""The paper's figures, drawn from run folders and saved results.

Each function gathers arrays and hands them to :mod:`sag_vicreg.figures`, which only draws.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import Run, align_all
from sag_vicreg.errors import InputError, require_train_extra, unknown_name
from sag_vicreg.experiments.declarations import ImageSet
from sag_vicreg.experiments.rand_figures import (
    draw_rand_clusters,
    draw_rand_levels,
    rand_results,
)
from sag_vicreg.experiments.scoring import embed_once
from sag_vicreg.recipes import METHOD_LABELS, Recipe, load_recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Caltech-256 classes the paper's caption speaks of, and a few of their kin.
CALTECH_GROUPS = {
    "aquatic": (
        *("052.crab-101", "057.dolphin-101", "087.goldfish", "106.horseshoe-crab"),
        *("124.killer-whale", "148.mussels", "150.octopus", "201.starfish-101"),
    ),
    "people": ("119.jesus-christ", "159.people", "205.superman", "253.faces-easy-101"),
    "instruments": (
        *("063.electric-guitar-101", "077.french-horn", "091.grand-piano-101", "098.harp"),
        "136.mandolin",
    ),
    "vehicles": ("072.fire-truck", "145.motorbikes-101", "178.school-bus", "252.car-side-101"),
}


@dataclass(frozen=True)
class Sources:
    """What a figure is drawn from: run folders, and the images they embed where it needs any."""

    runs: Sequence[Path] = ()
    dataset: str | None = None
    classes: str | None = None
    query: str | None = None
    seed: int = 0
    count: int = 5


def _recipe(folder: Path) -> Recipe:
    if not Run(folder).recipe.is_file():
        raise InputError(f"{folder} is no run folder: it holds no {Run(folder).recipe.name}")
    return load_recipe(Run(folder).recipe)


def _label(recipe: Recipe) -> str:
    return METHOD_LABELS[recipe.method.name]


def _need_runs(sources: Sources, least: int, figure: str) -> list[Recipe]:
    if len(sources.runs) < least:
        what = "a run folder" if least == 1 else "run folders of the models to compare"
        raise InputError(f"figure {figure} is drawn from {what}: name them after the figure")
    require_train_extra(f"figure {figure}")
    return [_recipe(folder) for folder in sources.runs]


def _unseen_images(sources: Sources, recipe: Recipe) -> ImageSet:
    """Return what the user asked for; else the half of the classes the model has not seen.

    Of a dataset the model was not trained on that is all of them.
    """
    dataset, trained_on = sources.dataset or recipe.dataset.name, recipe.dataset.classes
    other_half = {"first": "second", "second": "first"}
    halved = dataset == recipe.dataset.name and isinstance(trained_on, str)
    unseen = other_half.get(str(trained_on), "all") if halved else "all"
    return ImageSet(dataset, sources.classes or unseen)


def _trained_on(recipe: Recipe) -> str:
    half = recipe.dataset.classes
    return recipe.dataset.name + (f", {half} half" if half in ("first", "second") else "")


def _pixels(images: ImageSet, ids: Sequence[str], *, seed: int) -> list[NDArray[np.uint8]]:
    from sag_vicreg.data import load_dataset

    data = load_dataset(images.dataset, split=images.split, classes=images.classes, seed=seed)
    place = {identity: row for row, identity in enumerate(data.ids)}
    batch = data.batch([place[identity] for identity in ids])
    return [np.asarray(image) for image in batch.permute(0, 2, 3, 1).numpy()]


def draw_figure_query(sources: Sources) -> "Figure":
    """Figure 2: a query of unseen classes and its nearest images under each model."""
    from sag_vicreg.evaluation.checks import unit_rows
    from sag_vicreg.figures.query import Ranked, draw_query

    recipes = _need_runs(sources, 2, "query")
    images = _unseen_images(sources, recipes[0])
    seed = recipes[0].dataset.seed
    sets = align_all(
        [embed_once(Run(folder), images) for folder in sources.runs],
        [str(folder) for folder in sources.runs],
    )
    ids, labels = sets[0].ids, sets[0].labels
    assert ids is not None
    assert labels is not None
    if sources.query is None:
        # A seeded draw: nobody picked the image for what it shows.
        query = int(np.random.default_rng(sources.seed).integers(len(ids)))
    else:
        found = np.flatnonzero(ids == sources.query)
        if not found.size:
            raise InputError(f"no image '{sources.query}': ids are like '{ids[0]}'")
        query = int(found[0])
    rows = []
    for recipe, embeddings in zip(recipes, sets, strict=True):
        unit = unit_rows(embeddings.vectors)
        cosines = unit @ unit[query]
        nearest = [int(i) for i in np.argsort(-cosines, kind="stable") if i != query]
        nearest = nearest[: sources.count]
        rows.append(
            Ranked(
                _label(recipe),
                _pixels(images, ids[nearest].tolist(), seed=seed),
                labels[nearest].tolist(),
                cosines[nearest].tolist(),
            )
        )
    (pixels,) = _pixels(images, [str(ids[query])], seed=seed)
    return draw_query(pixels, str(labels[query]), rows)


def draw_figure_pairs(sources: Sources) -> "Figure":
    """Figure 3: non-trivial pairs of a trained model's walk over one training batch."""
    from sag_vicreg.experiments.walks import walk_pairs
    from sag_vicreg.figures.pairs import draw_pairs

    (recipe, *more) = _need_runs(sources, 1, "pairs")
    if more:
        raise InputError("figure pairs is drawn from one run folder: name one at a time")
    pairs = walk_pairs(Run(sources.runs[0]), count=sources.count, seed=sources.seed)
    return draw_pairs(
        pairs.starts,
        pairs.ends,
        start_classes=pairs.start_classes,
        end_classes=pairs.end_classes,
        weights=pairs.weights,
        title=(
            f"{_label(recipe)}: {pairs.left} of {pairs.rows} walks leave their image;\n"
            f"own view among the {pairs.k} nearest for {pairs.own_view_near} of {pairs.rows}"
        ),
    )


def draw_figure_centroids(sources: Sources) -> "Figure":
    """Figure 6: UMAP of the class centroids of another dataset, one panel a model."""
    from sag_vicreg.evaluation.centroids import class_centroids
    from sag_vicreg.evaluation.plane import project
    from sag_vicreg.figures.centroids import draw_centroids

    recipes = _need_runs(sources, 1, "centroids")
    images = _unseen_images(replace(sources, dataset=sources.dataset or "caltech256"), recipes[0])
    titles = [f"{_label(recipe)}, trained on {_trained_on(recipe)}" for recipe in recipes]
    panels: dict[str, NDArray[np.floating[Any]]] = {}
    names: list[str] = []
    for folder, title in zip(sources.runs, titles, strict=True):
        embeddings = embed_once(Run(folder), images)
        assert embeddings.labels is not None
        classes, index = np.unique(embeddings.labels.astype(np.str_), return_inverse=True)
        names = classes.tolist()
        centroids = class_centroids(embeddings.vectors, index, len(names))
        # What is still the same title differs by its folder.
        panel = title if titles.count(title) == 1 else f"{title} ({folder})"
        panels[panel] = project(centroids, seed=sources.seed)
    groups = _groups(images.dataset, names)
    return draw_centroids(
        panels,
        [_plain(name) for name in names],
        groups={title: [_plain(name) for name in members] for title, members in groups.items()},
    )


def _plain(name: str) -> str:
    """Take Caltech's numbering off a class name: 087.goldfish, 052.crab-101."""
    return re.sub(r"^\d+\.|-101$", "", name).replace("_", " ")


def _groups(dataset: str, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the classes to colour: the paper's on Caltech-256, else the coarsest level's.

    A dataset without a class tree has none.
    """
    from sag_vicreg.hierarchy import hierarchy_names, load_hierarchy

    groups: Mapping[str, Sequence[str]] = {}
    if dataset == "caltech256":
        groups = CALTECH_GROUPS
    elif dataset in hierarchy_names():
        hierarchy = load_hierarchy(dataset)
        members = hierarchy.labels_at(1)
        groups = {
            group: [c for c, m in zip(hierarchy.classes, members, strict=True) if m == i]
            for i, group in enumerate(hierarchy.names_at(1))
        }
    # One half of the classes does not have them all.
    known = set(names)
    embedded = {group: [c for c in classes if c in known] for group, classes in groups.items()}
    return {group: classes for group, classes in embedded.items() if classes}


def draw_figure_spectral(sources: Sources) -> "Figure":
    """Figure 1: SpectralNet tears a cluster it has not seen."""
    require_train_extra("figure spectral")
    from sag_vicreg.figures.unseen_cluster import draw_unseen_cluster
    from sag_vicreg.methods.unseen_cluster import unseen_cluster

    return draw_unseen_cluster(**asdict(unseen_cluster(seed=sources.seed)))


def draw_figure_reconstructions(sources: Sources) -> "Figure":
    """Draw what MAE was shown of test images, what it painted, and what was there."""
    from sag_vicreg.experiments.reconstructions import reconstruct
    from sag_vicreg.figures.reconstructions import draw_reconstructions

    _need_runs(sources, 1, "reconstructions")
    shown = reconstruct(Run(sources.runs[0]), count=sources.count, seed=sources.seed)
    return draw_reconstructions(shown.masked, shown.reconstructions, shown.originals)


def draw_figure_separability(sources: Sources) -> "Figure":
    """Figure 5: separable without structure, structure without separability."""
    from sag_vicreg.experiments.separability import separability
    from sag_vicreg.figures.separability import draw_separability

    drawn = separability(seed=sources.seed)
    titles = []
    for view in drawn.views:
        title = f"{view.name}\nlinear accuracy {view.linear_accuracy:.2f}"
        if view.similarity is not None:
            s = view.similarity
            title += f"\nLCA Spearman {s.lca.spearman:.2f}, cophenetic {s.cophenetic.d1_to_p2:.2f}"
        titles.append(title)
    return draw_separability(
        [view.points for view in drawn.views],
        [view.linkage for view in drawn.views],
        drawn.labels,
        titles=titles,
    )


FIGURES: dict[str, Callable[[Sources], "Figure"]] = {
    "spectral": draw_figure_spectral,
    "query": draw_figure_query,
    "pairs": draw_figure_pairs,
    "rand-levels": lambda sources: draw_rand_levels(rand_results(sources.runs)),
    "rand-clusters": lambda sources: draw_rand_clusters(rand_results(sources.runs)),
    "separability": draw_figure_separability,
    "centroids": draw_figure_centroids,
    "reconstructions": draw_figure_reconstructions,  # not the paper's: how far an MAE has come
}
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
    found = NUMBERS.get(name, name)
    if found not in FIGURES:
        raise unknown_name("figure", name, [*FIGURES, *NUMBERS])
    return found


def draw_figure(name: str, sources: Sources) -> "Figure":
    """Draw a figure by its name or its printed number."""
    return FIGURES[figure_name(name)](sources)

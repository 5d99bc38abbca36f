"""Figure 6, computed: class centroids of images a model has not seen, laid out by UMAP."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from sag_vicreg.artifacts import Run
from sag_vicreg.figures.centroids import Centroids
from sag_vicreg.hierarchy import hierarchy_names, load_hierarchy
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.embedding import embed_once, labels_of

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


def lay_out_centroids(
    runs: Sequence[Run], titles: Sequence[str], images: ImageSet, *, seed: int = 0
) -> Centroids:
    """Embed ``images`` by each run and project the centroids of their classes to the plane."""
    from sag_vicreg.evaluation.centroids import class_centroids
    from sag_vicreg.evaluation.plane import project

    places = []
    for run in runs:
        embeddings = embed_once(run, images)
        classes, index = np.unique(labels_of(embeddings).astype(np.str_), return_inverse=True)
        places.append(project(class_centroids(embeddings.vectors, index, len(classes)), seed=seed))
    groups = group_of_class(images.dataset)
    return Centroids(
        np.array(titles),
        np.stack(places),
        np.array([_plain(name) for name in classes]),
        np.array([groups.get(str(name), "") for name in classes]),
    )


def _plain(name: str) -> str:
    """Take Caltech's numbering off a class name: 087.goldfish, 052.crab-101."""
    return re.sub(r"^\d+\.|-101$", "", name).replace("_", " ")


def group_of_class(dataset: str) -> Mapping[str, str]:
    """Return the groups to colour: the paper's on Caltech-256, else the coarsest level's.

    A dataset without a class tree has none.
    """
    if dataset == "caltech256":
        return {name: group for group, names in CALTECH_GROUPS.items() for name in names}
    if dataset not in hierarchy_names():
        return {}
    hierarchy = load_hierarchy(dataset)
    groups = hierarchy.names_at(1)
    members = zip(hierarchy.classes, hierarchy.labels_at(1), strict=True)
    return {name: groups[group] for name, group in members}

"""The four kinds of evaluation: embeddings in, a flat mapping of scores out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import Embeddings, Run, Spread, align, read_embeddings, write_embeddings
from sag_vicreg.experiments.declarations import ImageSet
from sag_vicreg.experiments.plan import Evaluation
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe

if TYPE_CHECKING:
    from sag_vicreg.structure import Scores

Embed = Callable[[Run, ImageSet, int | None], Embeddings]
"""A trained model, a set of images and a limit on their number to embeddings."""


@dataclass(frozen=True)
class Scored:
    """Scores, their half-sample spread where it is taken, and over how many images."""

    scores: dict[str, float]
    n_images: int
    half_samples: dict[str, Spread] = field(default_factory=dict)


def embed_once(run: Run, images: ImageSet, max_images: int | None = None) -> Embeddings:
    """Embed ``images`` by the run's backbone, or read what an earlier call has kept.

    More than ``max_images`` are cut to a seeded subset of equal shares of the classes, the same
    for every model. The split is the one the run was trained by: where it is drawn by the seed of
    the recipe's dataset, another seed's test images would be among the training images.
    """
    seed = load_recipe(run.recipe).dataset.seed
    path = run.embedding_file(
        images.dataset, images.split, images.classes, max_images=max_images, seed=seed
    )
    if path.is_file():
        return read_embeddings(path)
    from sag_vicreg.training import embed

    embeddings = embed(
        run.folder,
        dataset=images.dataset,
        split=images.split,
        classes=images.classes,
        max_images=max_images,
        seed=seed,
    )
    write_embeddings(path, embeddings)
    return embeddings


def _structure(evaluation: Evaluation, runs: list[Run], embed: Embed) -> Scored:
    """Tables 1 to 3: the trees of two models over the same images."""
    from sag_vicreg.structure import compare

    options = evaluation.options
    first, second = (embed(run, evaluation.images, options["max_images"]) for run in runs)
    first, second = align(first, second, names=("the first model", "the second model"))
    similarity = compare(
        first.vectors,
        second.vectors,
        geometry=options["geometry"],
        lca=options["lca"],
        half_samples=options["half_samples"],
    )
    spread = similarity.half_samples
    assert spread is not None
    means, deviations = _five(spread.mean), _five(spread.deviation)
    return Scored(
        _five(similarity),
        len(first),
        {name: Spread(means[name], deviations[name]) for name in means},
    )


def _five(scores: "Scores") -> dict[str, float]:
    """Return the five numbers of tables 1 and 2, flat."""
    return {
        "lca.pearson": scores.lca.pearson,
        "lca.spearman": scores.lca.spearman,
        "lca.kendall": scores.lca.kendall,
        "cophenetic.d1_to_p2": scores.cophenetic.d1_to_p2,
        "cophenetic.d2_to_p1": scores.cophenetic.d2_to_p1,
    }


def _levels(evaluation: Evaluation, runs: list[Run], embed: Embed) -> Scored:
    """Tables 4 and 5: k-NN and linear probe at every level of the hierarchy."""
    from sag_vicreg.evaluation import hierarchical_knn, hierarchical_probe

    images = evaluation.images
    hierarchy = load_hierarchy(images.dataset)
    (run,) = runs
    train = embed(run, ImageSet(images.dataset, images.classes, "train"), None)
    test = embed(run, ImageSet(images.dataset, images.classes, "test"), None)
    sets = (train.vectors, _labels(train), test.vectors, _labels(test), hierarchy)
    knn = hierarchical_knn(*sets, k=evaluation.options["k"])
    probe = hierarchical_probe(*sets, seeds=range(evaluation.options["probe_seeds"]))
    scores = _by_level("knn", knn.accuracy) | _by_level("probe", probe.accuracy)
    return Scored(scores, len(test))


def _rand(evaluation: Evaluation, runs: list[Run], embed: Embed) -> Scored:
    """Figures 4a and 4b: spectral clusters against the labels of each level."""
    from sag_vicreg.evaluation import rand_index

    (run,) = runs
    test = embed(run, evaluation.images, evaluation.options["max_images"])
    scores = rand_index(
        test.vectors,
        _labels(test),
        load_hierarchy(evaluation.images.dataset),
        cluster_counts=evaluation.options["cluster_counts"],
    )
    # The plain index rises with the number of clusters by itself: the adjusted one goes with it.
    flat = _by_level("rand", [a.rand for a in scores.by_level])
    flat |= _by_level("ari", [a.adjusted_rand for a in scores.by_level])
    flat |= {f"rand.clusters{a.n_clusters}": a.rand for a in scores.by_count}
    flat |= {f"ari.clusters{a.n_clusters}": a.adjusted_rand for a in scores.by_count}
    return Scored(flat, len(test))


def _selection(evaluation: Evaluation, runs: list[Run], embed: Embed) -> Scored:
    """Learning-rate search: k-NN among training images alone, one half against the other."""
    from sag_vicreg.evaluation import hierarchical_knn

    (run,) = runs
    pool = embed(run, evaluation.images, evaluation.options["max_images"])
    order = np.random.default_rng(0).permutation(len(pool))
    keys, queries = pool.take(order[::2]), pool.take(order[1::2])
    knn = hierarchical_knn(
        keys.vectors,
        _labels(keys),
        queries.vectors,
        _labels(queries),
        load_hierarchy(evaluation.images.dataset),
        k=evaluation.options["k"],
    )
    return Scored(_by_level("knn", knn.accuracy), len(pool))


def _labels(embeddings: Embeddings) -> NDArray[Any]:
    assert embeddings.labels is not None, "`embed` always writes labels"
    return embeddings.labels


def _by_level(measure: str, values: Any) -> dict[str, float]:
    return {f"{measure}.level{level}": float(value) for level, value in enumerate(values, 1)}


_KINDS: Mapping[str, Callable[[Evaluation, list[Run], Embed], Scored]] = {
    "structure": _structure,
    "levels": _levels,
    "rand": _rand,
    "selection": _selection,
}


def score(evaluation: Evaluation, runs: list[Run], embed: Embed) -> Scored:
    """Evaluate trained models as ``evaluation`` says."""
    return _KINDS[evaluation.kind](evaluation, runs, embed)

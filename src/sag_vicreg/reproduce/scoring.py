"""The four kinds of evaluation: embeddings in, a flat mapping of scores out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sag_vicreg.artifacts import Embeddings, Run, join
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.embedding import embed_once, labels_of
from sag_vicreg.reproduce.forests import forest_scores
from sag_vicreg.reproduce.plan import Evaluation
from sag_vicreg.scores import BY_CLUSTERS, Spread, by_level


@dataclass(frozen=True)
class Scored:
    """Scores, their half-sample spread where it is taken, and over how many images."""

    scores: dict[str, float]
    n_images: int
    half_samples: dict[str, Spread] = field(default_factory=dict)


def _structure(evaluation: Evaluation, runs: list[Run]) -> Scored:
    """Tables 1 to 3: the trees of two models over the same images."""
    from sag_vicreg.structure import compare

    options = evaluation.options
    first, second = (embed_once(run, evaluation.images, options["max_images"]) for run in runs)
    first, second = join([first, second], ("the first model", "the second model")).sets
    similarity = compare(
        first.vectors,
        second.vectors,
        geometry=options["geometry"],
        lca=options["lca"],
        trees=0,
        half_samples=options["half_samples"],
    )
    forest = options["forest"]
    grown = forest_scores(
        *(embed_once(run, evaluation.images, forest["max_images"]) for run in runs),
        geometry=options["geometry"],
        forest=forest,
    )
    halves = similarity.half_samples
    assert halves is not None
    return Scored(similarity.flat() | grown, len(first), halves.flat())


def _levels(evaluation: Evaluation, runs: list[Run]) -> Scored:
    """Tables 4 and 5: k-NN and linear probe at every level of the hierarchy."""
    from sag_vicreg.evaluation import hierarchical_knn, hierarchical_probe

    images = evaluation.images
    (run,) = runs
    train = embed_once(run, ImageSet(images.dataset, images.classes, "train"), None)
    test = embed_once(run, ImageSet(images.dataset, images.classes, "test"), None)
    tree = load_hierarchy(images.dataset)
    sets = (train.vectors, labels_of(train), test.vectors, labels_of(test), tree)
    knn = hierarchical_knn(*sets, k=evaluation.options["k"])
    probe = hierarchical_probe(*sets, seeds=range(evaluation.options["probe_seeds"]))
    return Scored(knn.scores() | probe.scores(), len(test))


def _rand(evaluation: Evaluation, runs: list[Run]) -> Scored:
    """Figures 4a and 4b: spectral clusters against the labels of each level."""
    from sag_vicreg.evaluation import rand_index

    (run,) = runs
    test = embed_once(run, evaluation.images, evaluation.options["max_images"])
    scores = rand_index(
        test.vectors,
        labels_of(test),
        load_hierarchy(evaluation.images.dataset),
        cluster_counts=evaluation.options["cluster_counts"],
    )
    # The plain index rises with the number of clusters by itself: the adjusted one goes with it.
    kept = tuple(f"{measure}." for measure in BY_CLUSTERS)
    return Scored({k: v for k, v in scores.scores().items() if k.startswith(kept)}, len(test))


def _selection(evaluation: Evaluation, runs: list[Run]) -> Scored:
    """Learning-rate search: k-NN among training images alone, one half against the other."""
    (run,) = runs
    pool = embed_once(run, evaluation.images, evaluation.options["max_images"])
    accuracy = knn_within(pool, evaluation.images.dataset, k=evaluation.options["k"])
    return Scored(by_level("knn", accuracy), len(pool))


def knn_within(pool: Embeddings, dataset: str, *, k: int) -> tuple[float, ...]:
    """Let one random half of a set vote on the other; accuracy by level, the coarsest first."""
    from sag_vicreg.evaluation import hierarchical_knn

    order = np.random.default_rng(0).permutation(len(pool))
    keys, queries = pool.take(order[::2]), pool.take(order[1::2])
    return hierarchical_knn(
        keys.vectors,
        labels_of(keys),
        queries.vectors,
        labels_of(queries),
        load_hierarchy(dataset),
        k=k,
    ).accuracy


SCORERS: Mapping[str, Callable[[Evaluation, list[Run]], Scored]] = {
    "structure": _structure,
    "levels": _levels,
    "rand": _rand,
    "selection": _selection,
}
"""Who evaluates trained models, by the kind of the evaluation."""

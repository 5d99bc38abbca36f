"""Made-up models and results of `shapes` and of the study: nothing here is trained."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sag_vicreg.artifacts import Embeddings, Result, write_embeddings, write_text
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce import Choices, Evaluation, Store, request_table
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.scores import Spread

FIVE = (
    *("lca.pearson", "lca.spearman", "lca.kendall"),
    *("cophenetic.d1_to_p2", "cophenetic.d2_to_p1"),
)


def structure_of_shapes(method: str = "vicreg") -> Evaluation:
    """Table 1's evaluation of one method on `shapes`."""
    choices = Choices(scale="smoke", datasets=["shapes"], methods=[method])
    (evaluation,) = request_table("table1", choices).evaluations
    return evaluation


def embeddings(seed: int, *, n: int = 120, noise: float = 0.3) -> Embeddings:
    """Six clusters, the same for every seed but for the noise around them."""
    labels = np.arange(n) % 6
    centres = np.random.default_rng(99).normal(size=(6, 8))
    vectors = centres[labels] + noise * np.random.default_rng(seed).normal(size=(n, 8))
    ids = np.array([f"image/{row:03d}" for row in range(n)])
    return Embeddings(vectors.astype(np.float32), ids, np.array([f"c{label}" for label in labels]))


def pretend_trained(recipe: Recipe, store: Store, images: ImageSet, made: Embeddings) -> None:
    """Leave behind what the grid would: a run folder that has embedded its images."""
    run = store.run(recipe)
    write_text(run.recipe, recipe.to_yaml())
    run.backbone.touch()
    path = run.embedding_file(images.dataset, images.split, images.classes, max_images=2000)
    write_embeddings(path, made)


def result_of(
    planned: Evaluation,
    scores: Mapping[str, float],
    *,
    halves: float = 0.4,
    failure: str | None = None,
) -> Result:
    """A finished result of ``planned``; its half-samples all have the mean ``halves``."""
    is_structure = planned.kind == "structure"
    options = dict(planned.options)
    if not any(key.startswith("forest.") for key in scores):
        options.pop("forest", None)
    return Result(
        kind=planned.kind,
        key=planned.key,
        family=planned.family,
        method=planned.method,
        seed=planned.seed,
        images=asdict(planned.images),
        options=options,
        models=[recipe.model_dump(mode="json") for recipe in planned.recipes],
        n_images=120,
        scores={} if failure else dict(scores),
        half_samples={key: Spread(halves, 0.02) for key in FIVE} if is_structure else {},
        seconds={"train": 1.0, "evaluate": 1.0},
        versions={},
        measures=[],
        failure=failure,
    )


def repository(folder: Path) -> Path:
    """Where a repository publishes things, empty; returns the folder of results."""
    published = folder / "replication" / "results"
    published.mkdir(parents=True)
    (folder / "docs").mkdir()
    return published

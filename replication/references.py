"""Reference points, measured as in the screening, and those of them that cost no training.

The latter show how much blurring raises structure scores: VICReg's own embeddings cut to fewer
principal components, a backbone never trained, and the mean colour.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError

from replication.contenders import SEEDS, SELECTION_IMAGES, plan
from replication.screening import BASELINE
from sag_vicreg.artifacts import Embeddings, Result, write_json
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce import (
    OPTIONS,
    PUBLISHED_IMAGES,
    ImageSet,
    Store,
    embed_once,
    forest_scores,
    knn_within,
)
from sag_vicreg.scores import FOREST

if TYPE_CHECKING:
    from sag_vicreg.data import ImageDataset

COMPONENTS = (2, 4, 8, 16, 32, 64, 128)
# Images of the pool, and of the forest.
SIZES = (OPTIONS["selection"]["max_images"], PUBLISHED_IMAGES)
PCA, UNTRAINED, COLOUR = "pca", "untrained", "colour"


@dataclass(frozen=True)
class ReferencePoint:
    """k-NN in percent, mean of the two sets, and forest similarity between them.

    ``detail`` is the number of components, of steps, or which weights or pixels; ``seed`` that of
    the models.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    kind: str
    detail: str
    seed: int
    knn: float
    forest: float
    low: float
    high: float

    @property
    def place(self) -> tuple[str, str, int]:
        """What tells it from the others."""
        return self.kind, self.detail, self.seed

    @property
    def is_costless(self) -> bool:
        """Whether nothing was trained for it."""
        return self.kind in (PCA, UNTRAINED, COLOUR)


@dataclass(frozen=True)
class Sets:
    """One model's embeddings: the pool that votes among itself, and the images of the forest."""

    pool: Embeddings
    kept: Embeddings

    def truncated(self, components: int) -> "Sets":
        """Keep the first principal components of the pool, and put its mean back.

        Cosines are taken from the origin: with all components the vectors are what they were.
        """
        mean = self.pool.vectors.mean(axis=0, dtype=np.float64)
        centred = self.pool.vectors - mean
        # The eigenvectors of a small matrix instead of the singular vectors of a tall one.
        _, directions = np.linalg.eigh(centred.T @ centred)
        leading = directions[:, -components:]

        def project(given: Embeddings) -> Embeddings:
            vectors = mean + (given.vectors - mean) @ leading @ leading.T
            return Embeddings(vectors, given.ids, given.labels)

        return Sets(project(self.pool), project(self.kept))


@cache
def _format() -> TypeAdapter[list[ReferencePoint]]:
    return TypeAdapter(list[ReferencePoint])


def read_points(path: Path) -> list[ReferencePoint]:
    """Read the points there are; a missing file has none."""
    if not path.is_file():
        return []
    try:
        return _format().validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError(f"{path} holds no reference points: move it away") from error


def measure(kind: str, detail: str, seed: int, first: Sets, second: Sets) -> ReferencePoint:
    """Take k-NN and forest similarity of two sets as the screening does."""
    options = OPTIONS["structure"]
    forest = forest_scores(
        first.kept, second.kept, geometry=options["geometry"], forest=options["forest"]
    )
    accuracies = [
        knn_within(sets.pool, SELECTION_IMAGES.dataset, k=OPTIONS["selection"]["k"])[-1]
        for sets in (first, second)
    ]
    return ReferencePoint(
        kind,
        detail,
        seed,
        100 * fmean(accuracies),
        forest[FOREST],
        forest["forest.low"],
        forest["forest.high"],
    )


Wanted = tuple[str, str, int, Callable[[], Sequence[Sets]]]
"""Kind, detail and seed of a point, and what makes the two sets it is measured on."""


def complete_points(path: Path, wanted: Iterable[Wanted], note: Callable[[str], None]) -> None:
    """Measure the points that the file lacks, one after the other, each written at once."""
    for kind, detail, seed, sets in wanted:
        if (kind, detail, seed) not in _by_place(path):
            point = measure(kind, detail, seed, *sets())
            # Read again: others may have written theirs meanwhile.
            known = _by_place(path) | {point.place: point}
            write_json(path, [asdict(each) for each in known.values()])
            note(f"done: {kind} {detail}, seed {seed}")


def _by_place(path: Path) -> dict[tuple[str, str, int], ReferencePoint]:
    return {point.place: point for point in read_points(path)}


def costless_points(store: Store, results: Mapping[str, Result]) -> Iterator[Wanted]:
    """List the points that cost no training, as far as models and images are at hand."""
    plans = {seed: plan(BASELINE, seed, results) for seed in SEEDS}
    for seed, planned in plans.items():
        if all(store.is_trained(recipe) for recipe in planned.recipes):
            models = cache(partial(_trained, planned.recipes, store))
            for components in COMPONENTS:
                yield PCA, str(components), seed, partial(_truncated, models, components)
    first, other = (planned.recipes[0] for planned in plans.values())
    # The two models of a seed begin with the same weights.
    yield UNTRAINED, "the same weights", SEEDS[0], lambda: [untrained(first)] * 2
    yield UNTRAINED, "other weights", SEEDS[0], lambda: [untrained(first), untrained(other)]
    yield COLOUR, "mean of the image", 0, lambda: [mean_colours()] * 2


def _truncated(models: Callable[[], Sequence[Sets]], components: int) -> list[Sets]:
    return [sets.truncated(components) for sets in models()]


def _trained(recipes: Iterable[Recipe], store: Store) -> list[Sets]:
    return [
        Sets(*(embed_once(store.run(recipe), SELECTION_IMAGES, size) for size in SIZES))
        for recipe in recipes
    ]


def untrained(recipe: Recipe, images: ImageSet = SELECTION_IMAGES) -> Sets:
    """Embed by the weights that training begins with."""
    from sag_vicreg.training.encoder import Encoder
    from sag_vicreg.training.run import untrained_method

    encoder = Encoder(untrained_method(recipe).backbone, recipe.dataset.image_size)
    return embedded_by(encoder.embed, images)


def mean_colours(images: ImageSet = SELECTION_IMAGES) -> Sets:
    """Take the three means of each image's normalised pixels for its embedding."""
    from sag_vicreg.data import normalize

    def embed(dataset: "ImageDataset") -> NDArray[np.float32]:
        pixels = normalize(dataset.batch(range(len(dataset))))
        return np.asarray(pixels.mean(dim=(2, 3)), dtype=np.float32)

    return embedded_by(embed, images)


def embedded_by(
    embed: "Callable[[ImageDataset], NDArray[np.float32]]", images: ImageSet = SELECTION_IMAGES
) -> Sets:
    """Embed the images that are measured."""
    from sag_vicreg.data import load_dataset

    found = []
    for size in SIZES:
        dataset = load_dataset(
            images.dataset, split=images.split, classes=images.classes, max_images=size
        )
        names = np.array(dataset.ids), np.array(dataset.label_names())
        found.append(Embeddings(embed(dataset), *names))
    return Sets(*found)

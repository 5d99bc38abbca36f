"""What has to be done for a declaration: models to train, evaluations of them.

Both are addressed by their content. A model's address is its recipe's digest; an evaluation's is
made of its models' addresses, the images and the options. Whatever two tables share is one thing.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from sag_vicreg.artifacts import Result
from sag_vicreg.recipes import Recipe, load_recipe
from sag_vicreg.reproduce.declarations import ImageSet, Setting
from sag_vicreg.scores import CLUSTER_COUNTS

# What each kind of evaluation needs to know beside models and images. Part of its address: a
# changed option is another evaluation. Not so the forest, which came later and adds scores to those
# of an evaluation instead of changing them: results made before keep their addresses.
BESIDE_THE_ADDRESS = ("forest",)
OPTIONS: dict[str, dict[str, Any]] = {
    # Trees of n images need n x n distances: more images than this are a seeded subset of classes'
    # equal shares. Every held-out set of the paper's is smaller, `--images train` is not.
    "structure": {
        "geometry": "cosine",
        "lca": "level",
        "half_samples": 10,
        "max_images": 10_000,
        # Of those images whose embeddings are published: it can be grown again without any model.
        "forest": {"trees": 100, "distance": "size", "max_images": 2_000},
    },
    "levels": {"k": 20, "probe_seeds": 1},
    "rand": {"cluster_counts": list(CLUSTER_COUNTS), "max_images": 10_000},
    # Training images, one half voting on the other: a search must not look at test images.
    "selection": {"k": 20, "max_images": 10_000},
}


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of one model or of two: what a :class:`Result` is the result of."""

    kind: str
    method: str
    seed: int
    recipes: tuple[Recipe, ...]
    images: ImageSet
    options: Mapping[str, Any] = field(default_factory=dict)

    def _address(self, recipes: Sequence[Recipe]) -> str:
        content = {
            "kind": self.kind,
            "models": [recipe.digest() for recipe in recipes],
            "images": asdict(self.images),
            "options": {k: v for k, v in self.options.items() if k not in BESIDE_THE_ADDRESS},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def key(self) -> str:
        """Content address."""
        return self._address(self.recipes)

    @cached_property
    def family(self) -> str:
        """Content address without the seed: equal for what may be averaged."""
        return self._address([recipe.model_copy(update={"seed": 0}) for recipe in self.recipes])

    @property
    def label(self) -> str:
        """A name for progress bars and lists."""
        return f"{self.kind} of {self.recipes[0].dataset.name}/{self.method} seed {self.seed}"


def evaluation_of(result: Result) -> Evaluation:
    """Return the evaluation a result is of, with the forest of today where it has one."""
    today = {k: v for k, v in OPTIONS[result.kind].items() if k in BESIDE_THE_ADDRESS}
    return Evaluation(
        result.kind,
        result.method,
        result.seed,
        tuple(Recipe.model_validate(model) for model in result.models),
        ImageSet(**result.images),
        {**result.options, **today},
    )


def model_label(recipe: Recipe) -> str:
    """Name a model for progress bars and lists."""
    classes = recipe.dataset.classes
    part = f" ({classes} half)" if classes in ("first", "second") else ""
    return f"{recipe.dataset.name}/{recipe.name.partition('/')[2]}{part} seed {recipe.seed}"


# The grid scores models when they are done: nothing needs to be measured on the way.
UNWATCHED = "monitor.measure_every=1000000"

Overrides = Callable[[str, str], Sequence[str]]
"""(dataset, method) to overrides of its recipe, such as the learning rate a search has chosen."""


def no_overrides(dataset: str, method: str) -> Sequence[str]:
    """Leave every recipe as it is."""
    return ()


def evaluation(
    kind: str,
    setting: Setting,
    method: str,
    *,
    scale: str,
    seed: int,
    overrides: Sequence[str] = (),
    tuned: Overrides = no_overrides,
) -> Evaluation:
    """Plan one evaluation; the user's ``overrides`` have the last word over ``tuned`` ones."""
    recipes = tuple(
        load_recipe(
            f"{trained_on.dataset}/{method}",
            scale=scale,
            overrides=[
                *tuned(trained_on.dataset, method),
                *overrides,
                f"dataset.classes={trained_on.classes}",
                f"seed={seed}",
            ],
        )
        for trained_on in setting.trained_on
    )
    return Evaluation(kind, method, seed, recipes, setting.images, OPTIONS[kind])

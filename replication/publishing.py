"""Publish finished models: small files that let others do without training.

A folder of results, which count as done; beside it ``embeddings``, for measures yet to come: one
parquet file per model and set of images, vectors as float16, under a limit on all of them together.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from sag_vicreg.artifacts import Result, finished_files, read_results, write_embeddings
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce import PUBLISHED_IMAGES, ImageSet, Store, embed_once, published_file

LIMIT = 60_000_000
"""Bytes that all published files may have together."""


def publish_results(results: Iterable[Result], folder: Path) -> None:
    """Write what is not in the folder yet, or not with these scores of forests."""
    published = read_results([folder])
    for result in results:
        if published.get(result.key) != result:
            result.write(folder)


def publish_embeddings(
    results: Iterable[Result],
    store: Store,
    folder: Path,
    *,
    limit: int = LIMIT,
    note: Callable[[str], None] = lambda line: None,
) -> None:
    """Publish what the models of these structure results made of their images.

    Models that are not in the store are passed over, and so is what is published already. A file
    that would carry the folder past ``limit`` bytes is refused, and ``note`` is told which.
    """
    taken = sum(path.stat().st_size for path in finished_files(folder, "*.parquet"))
    for result in results:
        images = ImageSet(**result.images)
        for model in result.models:
            recipe = Recipe.model_validate(model)
            path = published_file(folder, recipe, images)
            if path.is_file() or not store.is_trained(recipe):
                continue
            write_embeddings(
                path,
                embed_once(store.run(recipe), images, PUBLISHED_IMAGES),
                metadata=_metadata(recipe, images),
                half_precision=True,
            )
            size = path.stat().st_size
            if taken + size > limit:
                path.unlink()
                note(
                    f"not published: {path.name}; {taken + size:,} bytes of embeddings would be "
                    f"more than {limit:,}"
                )
                continue
            taken += size


def _metadata(recipe: Recipe, images: ImageSet) -> dict[str, str]:
    return {
        "dataset": images.dataset,
        "split": images.split,
        "classes": images.classes,
        "seed": str(recipe.dataset.seed),
        "model": recipe.digest(),
        "recipe": recipe.name,
        "model_seed": str(recipe.seed),
    }

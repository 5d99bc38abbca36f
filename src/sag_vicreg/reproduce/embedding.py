"""Embeddings of a trained model: made once, kept in its run folder, found where published."""

from pathlib import Path

from sag_vicreg.arrays import Array
from sag_vicreg.artifacts import Contents, Embeddings, Run, read_embeddings, write_embeddings
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.plan import OPTIONS
from sag_vicreg.reproduce.store import Store

PUBLISHED_IMAGES: int = OPTIONS["structure"]["forest"]["max_images"]
"""Images of a published file: a seeded subset, in equal shares of the classes."""


def embed_once(run: Run, images: ImageSet, max_images: int | None = None) -> Embeddings:
    """Embed ``images`` by the run's backbone, or read what an earlier call has kept.

    More than ``max_images`` are cut to a seeded subset of equal shares of the classes, the same
    for every model. The split is the one the run was trained by: where it is drawn by the seed of
    the recipe's dataset, another seed's test images would be among the training images.
    """
    recipe = run.read_recipe()
    seed = recipe.dataset.seed
    contents = Contents(
        dataset=images.dataset,
        split=images.split,
        classes=images.classes,
        seed=seed,
        model=recipe.digest(),
        max_images=max_images,
        made_by="reproduce",
    )
    path = run.embedding_file(
        images.dataset, images.split, images.classes, max_images=max_images, seed=seed
    )
    for file in run.embedding_files():
        # A file that does not say what it holds is believed by its name.
        says = contents if file.contents is None and file.path == path else file.contents
        if says is not None and (says.model, says.images) == (contents.model, contents.images):
            return read_embeddings(file.path)
    if path.is_file():  # other images under this name, which somebody chose
        path = path.with_stem(f"{path.stem}-{contents.made_by}")
    from sag_vicreg.training import embed

    embeddings = embed(
        run.folder,
        dataset=images.dataset,
        split=images.split,
        classes=images.classes,
        max_images=max_images,
        seed=seed,
    )
    write_embeddings(path, embeddings, metadata=contents.to_metadata())
    return embeddings


def labels_of(embeddings: Embeddings) -> Array:
    """Return the labels of what was embedded here."""
    assert embeddings.labels is not None, "`embed` always writes labels"
    return embeddings.labels


def published_file(folder: Path, recipe: Recipe, images: ImageSet) -> Path:
    """Name the file of a model's published embeddings of these images."""
    return folder / f"{recipe.digest()}-{images.dataset}-{images.split}-{images.classes}.parquet"


def known_embeddings(recipe: Recipe, images: ImageSet, store: Store) -> Embeddings | None:
    """Find a model's embeddings of the published images: published, or by the model itself.

    None where there is neither.
    """
    for folder in store.embedding_folders:
        path = published_file(folder, recipe, images)
        if path.is_file():
            return read_embeddings(path)
    if not store.is_trained(recipe):
        return None
    return embed_once(store.run(recipe), images, PUBLISHED_IMAGES)

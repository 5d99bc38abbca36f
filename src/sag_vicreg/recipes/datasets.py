"""Every dataset that has a name: declared here once, for recipes, tables and loaders alike.

How one is read is a function in ``sag_vicreg.data.sources``, which is loaded when it is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sag_vicreg.plugins import Plugins


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset by name.

    Attributes
    ----------
    name
        As commands and recipes call it; ``KIND:PATH`` stands for any path.
    summary
        One line for ``sag-vicreg datasets``.
    source
        ``package.module:function``, which is loaded when it is needed: from a request to records.
    title
        As tables and figures write it; empty for what is in none.
    folder
        Its place under the data root; None where nothing, or a path of the user's own, is read.
    recipes
        Which of the packaged settings its recipes take: those for small images or those for
        photographs. None where no recipe is packaged for it.
    train_images
        Training images of all classes, 0 where that is not known beforehand.
    native_size
        Held in memory as they are: views and embeddings enlarge them batch by batch.
    default_size
        Pixels to bring them to where nobody asks for a size; None is their own.
    trainable
        Whether a recipe may name it: not what holds other images in other places.
    fragments
        Of another package: what a file of its own in ``recipes/library/datasets`` would hold.
    """

    name: str
    summary: str
    source: str
    title: str = ""
    folder: str | None = None
    recipes: Literal["small", "photographs"] | None = None
    train_images: int = 0
    native_size: bool = False
    default_size: int | None = None
    trainable: bool = True
    fragments: tuple[Mapping[str, Any], ...] = ()


DATASETS = {
    entry.name: entry
    for entry in (
        DatasetEntry(
            "shapes",
            "drawn here: 9,600 / 2,400 images of 32 px, 48 classes",
            "sag_vicreg.data.sources.shapes:load_shapes",
            title="shapes",
            recipes="small",
            train_images=9_600,
        ),
        DatasetEntry(
            "digits",
            "scikit-learn's 1,797 handwritten digits, split 80/20",
            "sag_vicreg.data.sources.digits:load_digits",
            native_size=True,
            default_size=32,
        ),
        DatasetEntry(
            "cifar100",
            "50,000 / 10,000 images of 32 px, 100 classes",
            "sag_vicreg.data.sources.cifar100:load_cifar100",
            title="CIFAR-100",
            folder="cifar100",
            recipes="small",
            train_images=50_000,
            native_size=True,
        ),
        DatasetEntry(
            "caltech256",
            "photographs, 256 classes, split 80/20",
            "sag_vicreg.data.sources.caltech256:load_caltech256",
            title="Caltech-256",
            folder="caltech256",
            recipes="photographs",
            train_images=23_824,
        ),
        DatasetEntry(
            "imagenet100",
            "photographs, the paper's 100 classes",
            "sag_vicreg.data.sources.imagenet:load_imagenet100",
            title="ImageNet-100",
            folder="imagenet",
            recipes="photographs",
            train_images=129_395,
        ),
        DatasetEntry(
            "imagenet1k",
            "photographs, all 1,000 classes",
            "sag_vicreg.data.sources.imagenet:load_imagenet1k",
            title="ImageNet-1k",
            folder="imagenet",
            recipes="photographs",
            train_images=1_281_167,
        ),
        DatasetEntry(
            "imagenet",
            "imagenet1k, or imagenet100 where only that is",
            "sag_vicreg.data.sources.imagenet:load_imagenet",
            folder="imagenet",
            trainable=False,
        ),
        DatasetEntry(
            "folder:PATH",
            "class folders, with train/ and test/ or split 80/20",
            "sag_vicreg.data.sources.folders:load_folder",
        ),
        DatasetEntry(
            "parquet:PATH",
            "parquet with an image column, likewise",
            "sag_vicreg.data.sources.parquet:load_parquet",
        ),
        DatasetEntry(
            "arrow:PATH",
            "what Hugging Face datasets saved to disk, likewise",
            "sag_vicreg.data.sources.arrow:load_arrow",
        ),
    )
}
"""Every dataset that is built in, by name."""


def _problem(found: Any, name: str) -> str | None:
    if not isinstance(found, DatasetEntry):
        return f"is a {type(found).__name__}, not a sag_vicreg.recipes.DatasetEntry"
    if found.name != name:
        return f"calls itself '{found.name}'"
    if ":" not in found.source:
        return f"has the source '{found.source}', which is not package.module:function"
    return None


DATASET_PLUGINS: Plugins[DatasetEntry] = Plugins("dataset", DATASETS, _problem)
"""Datasets of other packages."""


def find_dataset(name: str) -> DatasetEntry | None:
    """Find the declaration of ``name``, where there is one; ``folder:pictures`` is a path's."""
    kind, colon, _ = name.partition(":")
    declared = f"{kind}:PATH" if colon else name
    return DATASETS.get(declared) or DATASET_PLUGINS.find(declared)


def dataset_names() -> tuple[str, ...]:
    """Return every dataset's name, those of other packages last."""
    return (*DATASETS, *DATASET_PLUGINS.names())


DATASET_LABELS = {name: entry.title for name, entry in DATASETS.items() if entry.title}
PACKAGED_DATASETS = tuple(name for name, entry in DATASETS.items() if entry.recipes)

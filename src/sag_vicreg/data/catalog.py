"""Datasets by name: where each is looked for, and how a name becomes an ``ImageDataset``."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sag_vicreg.data.dataset import ImageDataset
from sag_vicreg.data.decode import decode_squares
from sag_vicreg.data.resize import resize_squares
from sag_vicreg.data.sources.records import Records, Request, problem_of
from sag_vicreg.data.splits import SPLITS, Classes, balanced_subset, class_indices
from sag_vicreg.errors import InputError, check_name, unknown_name
from sag_vicreg.progress import track
from sag_vicreg.published import PUBLISHED_SIZE
from sag_vicreg.recipes import (
    DATASET_PLUGINS,
    DATASETS,
    DatasetEntry,
    dataset_names,
    find_dataset,
)

# Images that take more bytes than this once decoded stay on disk.
RESIDENT_LIMIT = 2**30


def load_dataset(
    name: str,
    *,
    root: str | Path | None = None,
    split: str = "train",
    classes: Classes = "all",
    image_size: int | None = None,
    max_images: int | None = None,
    seed: int = 0,
    resident: bool | None = None,
    skip_corrupt: bool = False,
) -> ImageDataset:
    """Load a dataset by name.

    Parameters
    ----------
    name
        One of :func:`~sag_vicreg.recipes.dataset_names`; the path of ``folder:PATH`` and
        ``parquet:PATH`` is its root.
    root
        The dataset's folder, or the folder above it; ``$SAG_VICREG_DATA`` by default.
    split
        ``"train"`` or ``"test"``; ``"all"`` where the source has no test set of its own.
    classes
        ``"all"``, ``"first"`` or ``"second"`` half of the classes, or a list of names or indices.
    image_size
        Height and width of the images; by default the first image's short side, 224 at most.
    max_images
        At most this many, as equally from every class as possible.
    seed
        Decides the subset, the 80/20 split of sources without a test set, and ``shapes``.
    resident
        Hold the images in memory; by default where they take less than 1 GiB.
    skip_corrupt
        Leave out images that cannot be decoded, with a warning that counts them, instead of
        refusing the first.

    Examples
    --------
    >>> data = load_dataset("shapes", split="test", classes="first", max_images=96)
    >>> data.images.shape, data.labels.max().item()
    (torch.Size([96, 3, 32, 32]), 23)
    """
    check_name("split", split, SPLITS)
    if image_size is not None and image_size < 1:
        raise InputError(f"image_size is {image_size}: ask for at least 1")
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")
    entry, folder = _find(name, root)
    records = read(entry, Request(folder, split, seed, image_size, classes, max_images))
    chosen = class_indices(records.class_names, classes)
    records = records.select(np.flatnonzero(np.isin(records.labels, chosen)))
    records = records.select(balanced_subset(records.labels, max_images, seed=seed))
    if not records.ids:
        raise InputError(f"{name} has no {split} images of the chosen classes")
    size = image_size or _own_size(entry, records, skip_corrupt)
    fits = len(records.ids) * 3 * size * size <= RESIDENT_LIMIT
    pixels, encoded = records.pixels, records.encoded
    if pixels is not None and pixels.shape[-1] != size:
        if not fits:
            raise InputError(
                f"{name} at {size} px does not fit in memory: leave image_size out and let the "
                "views enlarge, or load fewer images (max_images)"
            )
        pixels = resize_squares(pixels, size)
    if encoded is not None and (resident or (resident is None and fits)):
        kind = entry.name.partition(":")[0]
        pixels, kept = decode_squares(encoded, size, name=kind, skip_corrupt=skip_corrupt)
        records = _keep(records, kept, kind)
    elif encoded is not None and skip_corrupt:
        # Every image is decoded once, and again when it is needed.
        every = track(range(len(encoded)), f"checking {name}")
        records = _keep(records, np.array([*filter(encoded.is_readable, every)], np.int64), name)
    return ImageDataset(
        name=name,
        split=split,
        class_names=records.class_names,
        labels=torch.from_numpy(records.labels),
        ids=records.ids,
        image_size=size,
        pixels=pixels,
        encoded=None if pixels is not None else records.encoded,
    )


def check_dataset(name: str, *, root: str | Path | None = None) -> None:
    """Refuse a dataset that is missing or incomplete, in train or test, before any work is done.

    Files are listed, not decoded.
    """
    entry, folder = _find(name, root)
    if folder is not None:
        for split in ("train", "test"):
            read(entry, Request(folder, split, 0, None, "all", None))


@dataclass(frozen=True)
class Availability:
    """Where a dataset of the catalog was looked for, and what is wrong with what is there."""

    name: str
    summary: str
    where: str
    problem: str | None


def available(root: str | Path | None = None) -> list[Availability]:
    """Look for every named dataset under ``root`` (``$SAG_VICREG_DATA`` by default)."""
    return [_look_for(name, root) for name in dataset_names()]


def _look_for(name: str, root: str | Path | None) -> Availability:
    summary, where, problem = "", "nowhere", None
    try:
        entry = _declared(name)
        summary = entry.summary
        if name.endswith(":PATH"):
            return Availability(name, summary, "any path", None)
        place = None if entry.folder is None else root
        where = str(_find(name, place)[1] or ("built in" if name in DATASETS else "its package"))
        check_dataset(name, root=place)
    except InputError as error:
        problem = str(error)
    return Availability(name, summary, where, problem)


def read(entry: DatasetEntry, request: Request) -> Records:
    """Read a dataset's records with the source it names; those of other packages are checked."""
    records: Records = DATASET_PLUGINS.named_object(entry.name, entry.source)(request)
    if entry.name not in DATASETS and (problem := problem_of(records)):
        raise DATASET_PLUGINS.refusal(entry.name, f"{entry.source} {problem}")
    return records


def _declared(name: str) -> DatasetEntry:
    entry = find_dataset(name)
    if entry is None:
        raise unknown_name("dataset", name, dataset_names())
    return entry


def _find(name: str, root: str | Path | None) -> tuple[DatasetEntry, Path | None]:
    """Find the catalog's entry for ``name``, and the folder or file to read."""
    kind, colon, path = name.partition(":")
    entry = _declared(name)
    if root is not None and (colon or entry.folder is None):
        why = "names its own path" if colon else "is built in and reads no files"
        raise InputError(
            f"{name} {why}: leave --data (root) out, or name your images as folder:{root}"
        )
    if colon:
        if not path:
            raise InputError(f"'{name}' does not name a path: write {kind}:PATH")
        found = Path(path).expanduser()
    elif entry.folder is None:
        return entry, None
    else:
        above = os.environ.get("SAG_VICREG_DATA")
        if root is None and not above:
            raise InputError(
                f"where is {name}? Set SAG_VICREG_DATA to the folder above {entry.folder}/; "
                "`train` and `embed` also take --data, and Python functions root"
            )
        found = Path(f"{above}/{entry.folder}" if root is None else root).expanduser()
        # The folder above all datasets will do as well.
        if (found / entry.folder).is_dir():
            found = found / entry.folder
    if not found.exists():
        raise InputError(f"{name}: {found} does not exist")
    return entry, found


def _own_size(entry: DatasetEntry, records: Records, skip_corrupt: bool) -> int:
    """Size of the images where nobody asked for one: the first one's short side, 224 at most."""
    if records.pixels is not None:
        return entry.default_size or int(records.pixels.shape[-1])
    encoded = records.encoded
    assert encoded is not None
    first = next(filter(encoded.is_readable, range(len(encoded))), 0) if skip_corrupt else 0
    return min(PUBLISHED_SIZE, *encoded.open(first).size)


def _keep(records: Records, kept: NDArray[np.int64], name: str) -> Records:
    skipped = len(records.ids) - len(kept)
    if not skipped:
        return records
    if len(kept) == 0:
        raise InputError(f"{name}: none of the {skipped} images can be decoded")
    warnings.warn(f"{name}: skipped {skipped} corrupt images of {len(records.ids)}", stacklevel=3)
    return records.select(kept)

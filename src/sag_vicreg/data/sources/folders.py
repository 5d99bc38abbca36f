"""Class folders: ``root/class/image``, with or without ``train`` and ``test`` above them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sag_vicreg.data.encoded import EncodedImages, Files
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.errors import InputError, visible

IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".bmp"),
    *(".gif", ".tif", ".tiff", ".ppm", ".pgm"),
)
# Folder names under which the parts of a split dataset are found.
SPLIT_FOLDERS = {"train": ("train", "training"), "test": ("test", "val", "validation")}


def load_folder(request: Request) -> Records:
    """Load class folders.

    Where ``root`` holds a folder ``train``, the split is the folder of its name (``test`` may be
    called ``val``). Otherwise the class folders lie directly in ``root`` and the split is a seeded
    80/20 of every class. Images directly in ``root`` are one class, ``unlabelled``.
    """
    root = request.path
    if not root.is_dir():
        raise InputError(f"{root} is not a folder")
    if parts := split_folders(root):
        # A class means the same in train and test, also where only one of them has it.
        names = sorted({name for part in parts for name in _folders(part)})
        return class_folders(split_folder(request), prefix=root, names=names)
    return class_folders(root).split_by_seed(request)


def split_folders(root: Path) -> list[Path]:
    """List the folders of splits under ``root``; none where classes lie there directly."""
    every = (root / name for names in SPLIT_FOLDERS.values() for name in names)
    return [folder for folder in every if folder.is_dir()]


def split_folder(request: Request) -> Path:
    """Find the folder of the split that is asked for."""
    root, split = request.path, request.split
    request.refuse_all(root)
    for folder in split_folders(root):
        if folder.name in SPLIT_FOLDERS[split]:
            return folder
    raise InputError(f"{root} has no folder '{split}': half of the dataset is missing")


def class_folders(
    folder: Path,
    *,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    prefix: Path | None = None,
) -> Records:
    """List the images of every class folder in ``folder``.

    Parameters
    ----------
    classes
        The class folders to read, in label order; all of them, sorted, by default.
    names
        All class names, which labels count in; those that are read by default.
    prefix
        Ids are paths relative to it; to ``folder`` by default.
    """
    found, loose = _folders(folder), _images(folder)
    if classes is not None:
        missing = [name for name in classes if name not in found]
        if missing:
            raise InputError(
                f"{folder} lacks {len(missing)} of {len(classes)} class folders: "
                f"{', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}"
            )
        found = list(classes)
    elif found and loose:
        raise InputError(
            f"{folder} holds both class folders and loose images such as {loose[0].name}: "
            "move the images into class folders"
        )
    groups = [_images(folder / name) for name in found] if found else [loose]
    empty = [name for name, images in zip(found, groups, strict=False) if not images]
    if empty:
        raise InputError(f"class folder {folder / empty[0]} holds no images: half a dataset")
    paths = [path for images in groups for path in images]
    if not paths:
        raise InputError(f"{folder} holds no images and no class folders")
    known = tuple(names or found) or ("unlabelled",)
    labels = np.array([known.index(name) for name in found or known], dtype=np.int64)
    return Records(
        class_names=tuple(map(visible, known)),
        labels=labels.repeat([len(images) for images in groups]),
        # A name that is not UTF-8 is written out: tables hold nothing else.
        ids=[visible(path.relative_to(prefix or folder).as_posix()) for path in paths],
        encoded=EncodedImages(Files(paths), np.arange(len(paths))),
    )


@contextmanager
def _listing(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """List a folder; one that cannot be, or a link in it that leads in a circle, is named."""
    try:
        with os.scandir(folder) as entries:
            yield entries
    except OSError as error:
        raise InputError(
            f"cannot list {folder} ({error.strerror}): see to {error.filename or folder}"
        ) from error


def _folders(folder: Path) -> list[str]:
    with _listing(folder) as entries:
        return sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())


def _images(folder: Path) -> list[Path]:
    # A directory's own list says what is a file: ImageNet's million need no question each.
    with _listing(folder) as entries:
        names = sorted(
            entry.name
            for entry in entries
            if entry.name.lower().endswith(IMAGE_SUFFIXES)
            and not entry.name.startswith(".")
            and entry.is_file()
        )
    return [folder / name for name in names]

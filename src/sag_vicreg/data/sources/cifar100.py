"""CIFAR-100 (Krizhevsky, 2009): torchvision's files, the hub's parquet, or class folders."""

from pathlib import Path

import numpy as np
import torch

from sag_vicreg.data.sources.folders import class_folders, split_folder, split_folders
from sag_vicreg.data.sources.parquet import read_parquet, split_files
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import load_hierarchy

SIZES = {"train": 50_000, "test": 10_000}
PICKLES = "cifar-100-python"


def load_cifar100(request: Request) -> Records:
    """Load all of CIFAR-100's train or test set; half of it is refused."""
    request.refuse_all("cifar100")
    root, split = request.path, request.split
    records = _load(request)
    counts = np.bincount(records.labels, minlength=100)
    if len(records.labels) != SIZES[split] or not np.all(counts == SIZES[split] // 100):
        raise InputError(
            f"{root} holds {len(records.labels)} {split} images in {np.count_nonzero(counts)} "
            f"classes instead of CIFAR-100's {SIZES[split]} in 100: half a dataset; "
            f"to use it as it is, load it as folder:PATH or parquet:PATH"
        )
    return records


def _load(request: Request) -> Records:
    root, split = request.path, request.split
    names = load_hierarchy("cifar100").classes
    if (root / PICKLES).is_dir():
        return _load_pickles(root, split)
    for folder in (root, root / "data"):
        if any(folder.glob("*.parquet")):
            return read_parquet(
                split_files(folder, request), class_names=names, id_prefix=f"{split}/"
            )
    if split_folders(root):
        return class_folders(split_folder(request), classes=names, prefix=root)
    raise InputError(
        f"{root} holds no CIFAR-100: expected {PICKLES}/ (torchvision), train*.parquet (hub) or "
        "train/CLASS/ (folders); `sag-vicreg datasets download cifar100` fetches it"
    )


def _load_pickles(root: Path, split: str) -> Records:
    """Read torchvision's files, which it unpickles only after their published MD5 sums match."""
    from torchvision.datasets import CIFAR100

    try:
        data = CIFAR100(str(root), train=split == "train", download=False)
    except RuntimeError as error:
        raise InputError(
            f"{root / PICKLES} does not match CIFAR-100's published checksums, so it was not "
            "opened: delete it and download it again"
        ) from error
    pixels = torch.from_numpy(data.data).permute(0, 3, 1, 2).contiguous()
    ids = [f"{split}/{row:06d}" for row in range(len(pixels))]
    return Records(tuple(data.classes), np.array(data.targets, dtype=np.int64), ids, pixels)


def download_cifar100(root: Path) -> None:
    """Download CIFAR-100 to ``root`` with torchvision, checksums verified."""
    from urllib.error import URLError

    from torchvision.datasets import CIFAR100

    try:
        root.mkdir(parents=True, exist_ok=True)
        CIFAR100(str(root), download=True)
    except (URLError, OSError, RuntimeError) as error:
        raise InputError(f"cannot download cifar100 to {root}: {error}") from error

"""Folders that the Hugging Face library ``datasets`` saved to disk, without the library."""

from pathlib import Path

from sag_vicreg.artifacts import dataset_files
from sag_vicreg.data.sources.folders import split_folder, split_folders
from sag_vicreg.data.sources.parquet import class_names, read_parquet
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.errors import InputError


def load_arrow(request: Request) -> Records:
    """Load what ``save_to_disk`` wrote: a dataset, or a dictionary of them by split.

    A single dataset is split by seed, 80/20 of every class.
    """
    root = request.path
    if root.is_file():
        raise InputError(f"{root} is a file: name the folder that save_to_disk wrote")
    parts = split_folders(root)
    if not parts:
        return read_parquet(_files(root)).split_by_seed(request)
    chosen = _files(split_folder(request))
    # A class means the same in train and test, also where only one of them has it.
    every = [file for part in parts for file in _files(part)]
    return read_parquet(chosen, class_names=class_names(every), id_prefix=f"{request.split}/")


def _files(folder: Path) -> list[Path]:
    if (folder / "state.json").is_file():
        return dataset_files(folder)
    files = sorted(folder.glob("*.arrow"))
    if not files:
        raise InputError(f"{folder} holds no .arrow files: name the folder save_to_disk wrote")
    return files

"""Files and folders: what a run leaves behind, written whole or not at all."""

from sag_vicreg.artifacts.atomic import (
    atomic_path,
    check_writable,
    finished_files,
    write_json,
    write_text,
)
from sag_vicreg.artifacts.embeddings import (
    Embeddings,
    align,
    align_all,
    check_embeddings_path,
    read_embeddings,
    write_embeddings,
)
from sag_vicreg.artifacts.results import Result, Spread, read_result, read_results
from sag_vicreg.artifacts.runs import THUMBNAILS, Run, split_of, training_file
from sag_vicreg.artifacts.thumbnails import read_thumbnails, write_thumbnails

__all__ = [
    "THUMBNAILS",
    "Embeddings",
    "Result",
    "Run",
    "Spread",
    "align",
    "align_all",
    "atomic_path",
    "check_embeddings_path",
    "check_writable",
    "finished_files",
    "read_embeddings",
    "read_result",
    "read_results",
    "read_thumbnails",
    "split_of",
    "training_file",
    "write_embeddings",
    "write_json",
    "write_text",
    "write_thumbnails",
]

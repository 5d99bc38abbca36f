"""Files and folders: what a run leaves behind, written whole or not at all."""

from sag_vicreg.artifacts.atomic import atomic_path, write_bytes, write_json, write_text
from sag_vicreg.artifacts.runs import Run
from sag_vicreg.artifacts.thumbnails import read_thumbnails, write_thumbnails

__all__ = [
    "Run",
    "atomic_path",
    "read_thumbnails",
    "write_bytes",
    "write_json",
    "write_text",
    "write_thumbnails",
]

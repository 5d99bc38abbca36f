"""Files and folders: what a run leaves behind, written whole or not at all."""

from sag_vicreg.artifacts.atomic import (
    atomic_path,
    check_apart,
    check_writable,
    finished_files,
    write_json,
    write_text,
)
from sag_vicreg.artifacts.backbone_config import BackboneConfig, read_backbone_config
from sag_vicreg.artifacts.columns import ColumnNames
from sag_vicreg.artifacts.contents import Contents, contents_of
from sag_vicreg.artifacts.embedding_tables import EmbeddingTable, open_table
from sag_vicreg.artifacts.embeddings import (
    SUFFIXES,
    Embeddings,
    as_half,
    check_embeddings_path,
    read_contents,
    read_embeddings,
    read_metadata,
    write_embeddings,
)
from sag_vicreg.artifacts.frames import dataset_files, is_dataset_folder
from sag_vicreg.artifacts.joining import Joined, join
from sag_vicreg.artifacts.metrics import read_metrics
from sag_vicreg.artifacts.naming import Source, distinct_names
from sag_vicreg.artifacts.results import (
    Result,
    ScoreFile,
    read_result,
    read_results,
    read_scores,
)
from sag_vicreg.artifacts.runs import (
    THUMBNAILS,
    EmbeddingFile,
    Run,
    training_file,
)
from sag_vicreg.artifacts.texts import Texts, shorten
from sag_vicreg.artifacts.thumbnails import read_pictures, read_thumbnails, write_thumbnails

__all__ = [
    "SUFFIXES",
    "THUMBNAILS",
    "BackboneConfig",
    "ColumnNames",
    "Contents",
    "EmbeddingFile",
    "EmbeddingTable",
    "Embeddings",
    "Joined",
    "Result",
    "Run",
    "ScoreFile",
    "Source",
    "Texts",
    "as_half",
    "atomic_path",
    "check_apart",
    "check_embeddings_path",
    "check_writable",
    "contents_of",
    "dataset_files",
    "distinct_names",
    "finished_files",
    "is_dataset_folder",
    "join",
    "open_table",
    "read_backbone_config",
    "read_contents",
    "read_embeddings",
    "read_metadata",
    "read_metrics",
    "read_pictures",
    "read_result",
    "read_results",
    "read_scores",
    "read_thumbnails",
    "shorten",
    "training_file",
    "write_embeddings",
    "write_json",
    "write_text",
    "write_thumbnails",
]

"""Tables that are not one file: a folder that `datasets` saved, and data frames in memory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from sag_vicreg.artifacts.arrow import ipc_table
from sag_vicreg.artifacts.columns import ColumnNames
from sag_vicreg.door import Kind, open_file, parse_json, read_json
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

SHARD = Kind("an Arrow file of a saved dataset", "save the dataset again", most_bytes=None)
_DESCRIPTION = Kind("the description of a saved dataset", "save the dataset again")


class _Shard(BaseModel):
    filename: str


class _State(BaseModel):
    files: list[_Shard] = Field(alias="_data_files", min_length=1)


class _Splits(BaseModel):
    splits: list[str]


def is_dataset_folder(path: Path) -> bool:
    """Whether ``datasets`` saved this folder: one dataset, or several under their names."""
    try:
        return any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))
    except OSError:  # a name no file system takes
        return False


def dataset_table(folder: Path, names: ColumnNames) -> "pa.Table":
    """Read a dataset as ``save_to_disk`` of Hugging Face ``datasets`` leaves it."""
    import pyarrow as pa

    if not (folder / "state.json").is_file():
        found = read_json(folder / "dataset_dict.json", _DESCRIPTION, _Splits)
        some = found.splits[0] if found.splits else "train"
        raise InputError(f"it holds {', '.join(found.splits)}: name one, as {folder / some}")
    tables = []
    for shard in dataset_files(folder):
        with open_file(shard, SHARD) as file:
            tables.append(ipc_table(file, names))
    return pa.concat_tables(tables)


def dataset_files(folder: Path) -> list[Path]:
    """List the files of a saved dataset: others beside them are caches of the library's own."""
    found = []
    for shard in read_json(folder / "state.json", _DESCRIPTION, _State).files:
        if Path(shard.filename).name != shard.filename:
            raise InputError(f"state.json names '{shard.filename}', which is not in the folder")
        found.append(folder / shard.filename)
        if not found[-1].is_file():
            raise InputError(f"{found[-1]} is missing: save the dataset again")
    return found


def class_names(table: "pa.Table", column: str) -> list[str] | None:
    """Return the class names that ``datasets`` noted for a column of whole numbers, if it did."""
    found = noted(table, b"huggingface", "info", "features", column, "names")
    return found if all(isinstance(name, str) for name in found or ()) else None


def noted(table: "pa.Table", library: bytes, *keys: str) -> list[Any] | None:
    """Return a list among a library's notes in a table, which may be of anybody's making."""
    notes = (table.schema.metadata or {}).get(library)
    found: Any = None if notes is None else parse_json(notes)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, list) else None


def is_frame(source: object) -> bool:
    """Whether this is a pandas or Polars frame, an Arrow table or anything that speaks Arrow."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__")


def frame_table(frame: Any) -> "pa.Table":
    """Hand a data frame over through Arrow's own interface, without asking who made it."""
    import pyarrow as pa

    if hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
    else:  # pandas before 2.2
        from pyarrow.interchange import from_dataframe

        table = from_dataframe(frame)
    table.validate(full=True)
    return table

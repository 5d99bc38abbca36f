"""Small pictures beside the vectors: ``thumbnails.parquet``, one WebP file per image id."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sag_vicreg.artifacts.arrow import read_columns
from sag_vicreg.artifacts.atomic import atomic_path
from sag_vicreg.door import Kind, open_file
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

PICTURES = Kind(
    "a file of thumbnails (parquet with the columns id and image)",
    "delete it, and make it again with `sag-vicreg embed`",
    most_bytes=None,
)
_DATASET = "dataset"
MOST_BYTES = 1 << 18
"""Of one thumbnail; those that `embed` writes have a few hundred."""


def write_thumbnails(
    path: Path | str,
    ids: Sequence[str],
    webp: Sequence[bytes],
    *,
    datasets: Sequence[str] | None = None,
) -> None:
    """Write one WebP image per id to the parquet file ``path``, atomically.

    The columns are ``id`` (string) and ``image`` (binary), so that any parquet reader sees what it
    is; and ``dataset``, where these are said, as ids of two datasets may be alike. The order is
    free: readers look images up by id.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(ids) != len(webp):
        raise InputError(f"{len(ids)} ids but {len(webp)} thumbnails: give one image per id")
    if len(set(zip(datasets or ids, ids, strict=True))) != len(ids):
        raise InputError("thumbnail ids repeat: every image needs an id of its own")
    columns = {
        "id": pa.array([str(name) for name in ids], pa.string()),
        "image": pa.array(list(webp), pa.binary()),
    }
    if datasets is not None:
        columns[_DATASET] = pa.array(list(datasets), pa.string())
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        # The images are compressed already.
        pq.write_table(pa.table(columns), file, compression="none", write_page_checksum=True)


def read_thumbnails(path: Path | str, *, dataset: str | None = None) -> dict[str, bytes]:
    """Read a file of thumbnails: image id to WebP bytes, each of bounded size.

    Of a ``dataset`` alone, where the file says of which each image is.
    """
    return {
        identity: image
        for (of, identity), image in read_pictures(path).items()
        if dataset is None or of in ("", dataset)
    }


def read_pictures(path: Path | str) -> dict[tuple[str, str], bytes]:
    """Read a file of thumbnails by dataset and image id; the dataset is empty where unsaid."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with open_file(path, PICTURES) as handle:
        kinds = {field.name: field.type for field in pq.read_schema(handle)}
        if kinds.get("id") != pa.string() or kinds.get("image") != pa.binary():
            raise InputError(f"it is not {PICTURES.name}: {PICTURES.remedy}")
        said = kinds.get(_DATASET) == pa.string()
        names = ["id", "image", _DATASET][: 2 + said]
        table = read_columns(handle, names).unify_dictionaries()
        if any(table[name].null_count for name in names):
            raise InputError(f"an id or an image is missing: {PICTURES.remedy}")
        stored = table["image"].chunk(0).dictionary
        if (pc.max(pc.binary_length(stored)).as_py() or 0) > MOST_BYTES:
            raise InputError(f"an image has more than {MOST_BYTES:,} bytes: {PICTURES.remedy}")
        datasets = _values(table[_DATASET]) if said else [""] * len(table)
        keys = zip(datasets, _values(table["id"]), strict=True)
        return dict(zip(keys, _values(table["image"]), strict=True))


def _values(column: "pa.ChunkedArray") -> list[Any]:
    """Return the values of a column with one dictionary; equal ones are one object."""
    stored = column.chunk(0).dictionary.to_pylist()
    return [stored[place] for chunk in column.chunks for place in chunk.indices.to_pylist()]

"""Small pictures beside the vectors: ``thumbnails.parquet``, one WebP file per image id."""

from collections.abc import Sequence
from pathlib import Path

from sag_vicreg.artifacts.atomic import atomic_path
from sag_vicreg.errors import InputError


def write_thumbnails(path: Path | str, ids: Sequence[str], webp: Sequence[bytes]) -> None:
    """Write one WebP image per id to the parquet file ``path``, atomically.

    The columns are ``id`` (string) and ``image`` (binary), so that any parquet reader sees what it
    is. The order is free: readers look images up by id.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(ids) != len(webp):
        raise InputError(f"{len(ids)} ids but {len(webp)} thumbnails: give one image per id")
    if len(set(ids)) != len(ids):
        raise InputError("thumbnail ids repeat: every image needs an id of its own")
    columns = {
        "id": pa.array([str(name) for name in ids], pa.string()),
        "image": pa.array(list(webp), pa.binary()),
    }
    with atomic_path(path) as temporary:
        # The images are compressed already.
        pq.write_table(pa.table(columns), temporary, compression="none")


def read_thumbnails(path: Path | str) -> dict[str, bytes]:
    """Read a thumbnails file: image id to WebP bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=["id", "image"])
    except FileNotFoundError as error:
        raise InputError(f"no thumbnails at {path}: `sag-vicreg embed` writes them") from error
    except (OSError, pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InputError(
            f"{path} is not a thumbnails file (parquet with columns id and image): "
            "make it again with `sag-vicreg embed`"
        ) from error
    if table.column_names != ["id", "image"] or not pa.types.is_binary(table["image"].type):
        raise InputError(f"{path} has no columns id and image: make it with `sag-vicreg embed`")
    return dict(zip(table["id"].to_pylist(), table["image"].to_pylist(), strict=True))

"""Tables of many files, for tests of what is read by pieces."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Floats = npt.NDArray[np.float64]


def two_sets(n: int, d: int = 8, *, noise: float = 0.5) -> tuple[Floats, Floats]:
    """Make clusters within groups, and a noisy turn of them."""
    rng = np.random.default_rng(0)
    groups = 2 * rng.normal(size=(6, d))
    classes = groups[rng.integers(6, size=40)] + rng.normal(size=(40, d))
    a = classes[rng.integers(40, size=n)] + 0.5 * rng.normal(size=(n, d))
    turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return a.astype(np.float32), (a @ turn + noise * rng.normal(size=a.shape)).astype(np.float32)


def as_table(vectors: Floats, ids: npt.NDArray[np.str_] | None = None) -> pa.Table:
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1))
    columns = {} if ids is None else {"id": pa.array(ids.tolist())}
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table(columns)


def write_folder(
    folder: Path,
    vectors: Floats,
    ids: npt.NDArray[np.str_] | None = None,
    *,
    files: int = 3,
    row_group: int = 100,
) -> Path:
    """Write a table as several parquet files of several row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(vectors)), files)):
        table = as_table(vectors[rows], None if ids is None else ids[rows])
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=row_group)
    return folder


def write_inflated(folder: Path, small: Floats, *, repeated: int, files: int) -> None:
    """Write a table whose numbers take next to no room on disk, and all of it when they are read.

    Each number of ``small`` is repeated, which leaves all directions alone, and every file is the
    same one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = folder / "part-00.parquet"
    with pq.ParquetWriter(first, as_table(small[:1].repeat(repeated, axis=1)).schema) as writer:
        for rows in np.array_split(small, 10):
            writer.write_table(as_table(rows.repeat(repeated, axis=1)))
    for number in range(1, files):
        (folder / f"part-{number:02d}.parquet").hardlink_to(first)


def names_of(n: int) -> npt.NDArray[np.str_]:
    return np.array([f"item {k}" for k in range(n)])

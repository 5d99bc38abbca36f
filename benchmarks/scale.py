"""Two tables that are not held in memory: time and peak from parquet to verdict, and the error.

The peer is what fits into memory: a sample of the rows, compared with plain SciPy.
"""

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, Target
from benchmarks.structure import scipy_route
from benchmarks.timing import peak_memory
from sag_vicreg.artifacts import EmbeddingTable, open_table
from sag_vicreg.artifacts.id_joins import IdPartitions, check_ids
from sag_vicreg.artifacts.table_samples import sample_tables
from sag_vicreg.passes import Passes
from sag_vicreg.structure import TableSimilarity, compare_tables

Floats = npt.NDArray[np.float32]

_CHUNK = 50_000
_GIGABYTE = 1e9
# What the project promises of two tables of a million rows on two cores.
_PROMISED_ROWS, _MINUTES, _GIGABYTES = 1_000_000, 10.0, 4.0
_SAMPLES, _SAMPLED = 3, 2_000


def run(*, rows: int, dimensions: int, memory: int) -> Report:
    """Compare two tables of ``rows`` rows, the second a noisy turn of the first."""
    with tempfile.TemporaryDirectory() as name:
        folders = write_tables(Path(name), rows, dimensions)
        with tempfile.NamedTemporaryFile() as found:
            peak, seconds = peak_memory(
                partial(_opened, folders), partial(_compare, memory=memory, out=found.name)
            )
            ours = np.load(found)
        join, join_seconds = peak_memory(partial(_opened, folders), _join)
        duck = _duckdb(folders)
        samples = [_timed(partial(scipy_route, _sample(folders, seed))) for seed in range(_SAMPLES)]
    spearman, low, high, cpu = ours.tolist()
    peer = np.array([scores[1] for _, scores in samples])
    lines: list[tuple[str, ...]] = [
        ("forest with anchors, all rows", f"{seconds:.0f}", _gb(peak), f"{spearman:.3f}"),
        ("  its interval", "", "", f"{low:.3f} to {high:.3f}"),
        ("  of its seconds, on a processor", f"{cpu:.0f}", "", ""),
        ("join by id, hash partitions on disk", f"{join_seconds:.1f}", _gb(join), ""),
        ("join by id, DuckDB", *duck, ""),
        (
            f"SciPy, one tree of {_SAMPLED:,} sampled rows",
            f"{np.mean([took for took, _ in samples]):.1f}",
            "",
            f"{peer.mean():.3f}",
        ),
        (f"  its range over {_SAMPLES} samples", "", "", f"{peer.min():.3f} to {peer.max():.3f}"),
    ]
    targets = []
    if rows == _PROMISED_ROWS:
        targets = [
            Target("minutes, parquet to verdict", seconds / 60, _MINUTES, at_least=False),
            Target("gigabytes", peak / _GIGABYTE, _GIGABYTES, at_least=False),
        ]
    return Report(
        f"two tables of {rows:,} x {dimensions}",
        ("what", "seconds", "GB above imports", "Spearman"),
        lines,
        targets,
    )


def write_tables(root: Path, rows: int, dimensions: int) -> tuple[Path, Path]:
    """Write two tables of the same items, in different orders, as files of 50,000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    shape = (dimensions, dimensions)
    turn = rng.normal(size=shape).astype(np.float32) / np.float32(np.sqrt(dimensions))
    folders = root / "a", root / "b"
    for folder in folders:
        folder.mkdir()
    for number, (first, x) in enumerate(_items(rng, rows, dimensions)):
        y = x @ turn + rng.normal(size=x.shape, scale=0.5).astype(np.float32)
        order = rng.permutation(len(x))
        ids = np.char.add("item ", np.arange(first, first + len(x)).astype(np.str_))
        for folder, vectors, names, place in (
            (folders[0], x, ids, number),
            (folders[1], y[order], ids[order], rows // _CHUNK - number),
        ):
            flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dimensions)
            table = pa.table({"id": pa.array(names.tolist()), "vector": flat})
            pq.write_table(table, folder / f"part-{place:05d}.parquet")
    return folders


def _items(rng: np.random.Generator, rows: int, d: int) -> Iterator[tuple[int, Floats]]:
    """Yield items of 1,000 classes in 100 groups in 10 branches, some at a time."""
    branches = 2 * rng.normal(size=(10, d))
    groups = branches[rng.integers(10, size=100)] + 1.5 * rng.normal(size=(100, d))
    classes = (groups[rng.integers(100, size=1_000)] + rng.normal(size=(1_000, d))).astype("f4")
    for first in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - first)
        noise = rng.standard_normal(size=(count, d), dtype=np.float32)
        yield first, classes[rng.integers(1_000, size=count)] + noise


def _opened(folders: tuple[Path, Path]) -> tuple[EmbeddingTable, EmbeddingTable]:
    return open_table(folders[0]), open_table(folders[1])


def _compare(
    tables: tuple[EmbeddingTable, EmbeddingTable], *, memory: int, out: str
) -> TableSimilarity:
    start = time.process_time()
    found = compare_tables(*tables, memory=memory)
    cpu = time.process_time() - start
    with Path(out).open("wb") as file:
        np.save(file, np.array([found.spearman, *found.interval, cpu]))
    return found


def _join(tables: tuple[EmbeddingTable, EmbeddingTable]) -> None:
    with IdPartitions(tables[0], len(tables[0])) as a, IdPartitions(tables[1], len(tables[0])) as b:
        for partitions in (a, b):
            for piece in partitions.table.pieces:
                first, second = partitions.table.hashes(piece, seeds=(0, 1))
                partitions.add(first, second, np.arange(piece.start, piece.start + piece.rows))
        check_ids(a, b)


def _duckdb(folders: tuple[Path, Path]) -> tuple[str, str]:
    """Join the ids with DuckDB, where it is installed."""
    try:
        import duckdb
    except ImportError:
        return "not installed", ""
    peak, seconds = peak_memory(partial(_duckdb_opened, duckdb.__name__), partial(_ask, folders))
    return f"{seconds:.1f}", _gb(peak)


def _duckdb_opened(name: str) -> Any:
    import importlib

    return importlib.import_module(name).connect()


def _ask(folders: tuple[Path, Path], connection: Any) -> None:
    """Count what joins, what is missing and what is repeated: what our join refuses or yields."""
    one, other = (f"read_parquet('{folder}/*.parquet')" for folder in folders)
    connection.execute(
        f"select count(*), count(a.id), count(b.id), count(distinct a.id), count(distinct b.id) "
        f"from {one} a full join {other} b using (id)"
    ).fetchall()


def _sample(folders: tuple[Path, Path], seed: int) -> tuple[Any, Any]:
    """Hold a random sample of the rows in memory, both tables in one order."""
    one, other = sample_tables(_opened(folders), _SAMPLED, Passes(), seed=seed)
    return one.vectors.astype(np.float64), other.vectors.astype(np.float64)


def _timed(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _gb(size: float) -> str:
    return f"{size / _GIGABYTE:.2f}"

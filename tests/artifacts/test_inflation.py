"""Small files that stand for gigabytes: refused before the memory is taken, in every reader."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sag_vicreg import door
from sag_vicreg.artifacts import open_table, read_embeddings, read_thumbnails, write_thumbnails
from sag_vicreg.artifacts.parquet_pages import _CountedPages, read_batches
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError

ROWS, VALUES = 2_000, 20_000_000
FREE = 70_000_000


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[pa.MemoryPool]:
    """Memory that Arrow takes, counted, on a machine of which 70 MB are free."""
    monkeypatch.setattr(door, "available_bytes", lambda: FREE)
    before, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    yield counted
    pa.set_memory_pool(before)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Lists of zeros, all of them in the first row."""
    ends = pa.array(np.r_[0, np.full(ROWS, VALUES)], pa.int32())
    vectors = pa.ListArray.from_arrays(ends, pa.array(np.zeros(VALUES, np.float32)))
    return pa.table({"id": [f"i{row}" for row in range(ROWS)], "vector": vectors})


def packed_stream(table: pa.Table, path: Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(path, table.schema, options=options) as writer:
        writer.write_table(table)


BOMBS: dict[str, tuple[str, Callable[[pa.Table, Path], None]]] = {
    "runs": (".parquet", lambda table, path: pq.write_table(table, path)),
    "one page": (
        ".parquet",
        lambda table, path: pq.write_table(
            table, path, compression="zstd", use_dictionary=False, data_page_size=1 << 30
        ),
    ),
    "second version": (
        ".parquet",
        lambda table, path: pq.write_table(table, path, data_page_version="2.0"),
    ),
    "feather": (
        ".feather",
        lambda table, path: pyarrow.feather.write_feather(table, path, compression="zstd"),
    ),
    "stream": (".arrow", packed_stream),
}


def stream_all(path: Path) -> None:
    table = open_table(path)
    for piece in table.pieces:
        list(table.blocks(piece))


@pytest.mark.parametrize("kind", BOMBS)
def test_a_file_that_inflates_is_refused_before_it_does(
    tmp_path: Path, table: pa.Table, kind: str, pool: pa.MemoryPool
) -> None:
    suffix, write = BOMBS[kind]
    path = tmp_path / f"e{suffix}"
    write(table, path)
    assert path.stat().st_size < 200_000
    counted = pa.proxy_memory_pool(pool)
    pa.set_memory_pool(counted)
    for read in (read_embeddings, stream_all):
        with pytest.raises(InputError, match=r"it holds 0\.\d GB and 0\.1 GB of memory are free"):
            read(path)
    assert counted.max_memory() < FREE / 5
    done = CliRunner().invoke(app, ["compare", str(path), str(path), "--trees", "0"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_a_large_row_group_of_even_rows_is_read_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "available_bytes", lambda: 68_000_000)
    rows = np.random.default_rng(0).random((18_000, 1_000), np.float32)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
    pq.write_table(pa.table({"vector": flat}), tmp_path / "e.parquet", compression="none")
    found = open_table(tmp_path / "e.parquet")
    assert len(found.pieces) == 1
    assert rows.nbytes > 68_000_000
    read = [vectors for _, vectors in found.blocks(found.pieces[0])]
    np.testing.assert_array_equal(np.concatenate(read), rows)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.binary(60_000)])
def test_one_long_text_in_every_row(tmp_path: Path, kind: pa.DataType, pool: pa.MemoryPool) -> None:
    vectors = np.ones((ROWS, 2)).tolist()
    ids = pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int32), pa.array([b"x" * 60_000]))
    text = ids.cast(pa.binary()).cast(kind)
    pq.write_table(pa.table({"id": text, "vector": vectors}), tmp_path / "e.parquet")
    del text
    for read in (read_embeddings, lambda path: list(open_table(path).whole())):
        with pytest.raises(InputError, match=r"60,000 characters|GB of memory are free|is fixed_"):
            read(tmp_path / "e.parquet")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_texts_that_share_a_long_beginning(
    tmp_path: Path, version: str, pool: pa.MemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred kilobytes once, and in every row of the page again."""
    begin = np.random.default_rng(0).bytes(50_000).hex()
    ids = pa.array([begin + f"{row:05d}" for row in range(ROWS)])
    table = pa.table({"id": ids, "vector": np.ones((ROWS, 2)).tolist()})
    path = tmp_path / "e.parquet"
    pq.write_table(
        table,
        path,
        use_dictionary=False,
        column_encoding={"id": "DELTA_BYTE_ARRAY"},
        data_page_version=version,
        data_page_size=1 << 30,
        write_batch_size=ROWS,
    )
    del table, ids
    assert path.stat().st_size < 300_000
    counted = pa.proxy_memory_pool(pool)
    pa.set_memory_pool(counted)
    monkeypatch.setattr(door, "available_bytes", lambda: FREE - counted.bytes_allocated())
    monkeypatch.setattr("sag_vicreg.artifacts.parquet_pages._SMALL", 0)
    for read in (read_embeddings, lambda path: open_table(path).whole()):
        with pytest.raises(InputError, match=r"GB of memory are free|characters"):
            read(path)
    assert counted.max_memory() < FREE


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_share_their_beginnings_are_read_as_they_are(
    tmp_path: Path, encoding: str
) -> None:
    ids = np.array([f"folder/{row // 100}/{row:05d}" for row in range(5_000)])
    vectors = np.random.default_rng(0).normal(size=(5_000, 3))
    table = pa.table({"id": ids, "vector": list(vectors)})
    path = tmp_path / "e.parquet"
    pq.write_table(table, path, use_dictionary=False, column_encoding={"id": encoding})
    found = read_embeddings(path)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.vectors, vectors)
    streamed = open_table(path).whole()
    np.testing.assert_array_equal(streamed.ids, ids)


def test_rows_before_such_texts_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other writers begin with a dictionary, and go on without where it grows too large."""

    class Changing(pq.ParquetFile):
        def __init__(self, *arguments: Any, read_dictionary: Any = (), **options: Any) -> None:
            super().__init__(*arguments, read_dictionary=read_dictionary, **options)
            self.folds = bool(read_dictionary)

        def iter_batches(self, *arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
            for number, batch in enumerate(super().iter_batches(*arguments, **options)):
                if self.folds and number == 2:
                    raise OSError("Not yet implemented: DecodeArrow of DictAccumulator")
                yield batch

    ids = [f"item {row % 700}" for row in range(1_000)]
    pq.write_table(pa.table({"id": ids, "v": np.arange(1_000.0)}), tmp_path / "e.parquet")
    monkeypatch.setattr(pq, "ParquetFile", Changing)
    monkeypatch.setattr("sag_vicreg.artifacts.parquet_pages._is_delta", lambda header: True)
    with (tmp_path / "e.parquet").open("rb") as file:
        found = pa.Table.from_batches(list(read_batches(file, ["id", "v"], 110)))
    assert found["v"].to_pylist() == list(range(1_000))
    assert found["id"].to_pylist() == ids


def test_pictures_that_are_one(tmp_path: Path, pool: pa.MemoryPool) -> None:
    picture = bytes(200_000)
    write_thumbnails(tmp_path / "t.parquet", [str(row) for row in range(ROWS)], [picture] * ROWS)
    found = read_thumbnails(tmp_path / "t.parquet")
    assert len(found) == ROWS
    assert set(found.values()) == {picture}


class Taken(Exception):
    """Says how much memory was asked for."""


def test_a_column_that_begins_within_a_page_of_another_is_seen(
    tmp_path: Path, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(table.select(["vector"]), path)
    bomb = path.read_bytes()[4:]
    data = np.random.default_rng(0).normal(size=5_000).astype(np.float32)
    pq.write_table(pa.table({"v": data}), path, use_dictionary=False, compression="none")
    page = path.read_bytes()[4:2_000]

    def refuse(needed: int) -> None:
        raise Taken(needed)

    monkeypatch.setattr("sag_vicreg.artifacts.parquet_pages.check_memory", refuse)
    pages = _CountedPages(io.BytesIO(page + bomb), lists=True, texts=0, rows=ROWS, folded=True)
    pages.read(len(page))
    with pytest.raises(Taken):
        pages.read(len(bomb))


def test_an_npz_with_a_header_of_gigabytes(tmp_path: Path, pool: pa.MemoryPool) -> None:
    path = tmp_path / "e.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        member = b"\x93NUMPY\x02\x00" + (1 << 24).to_bytes(4, "little") + b" " * (1 << 24)
        archive.writestr("vectors.npy", member)
    with pytest.raises(InputError, match="a header of 16,777,216 bytes"):
        read_embeddings(path)


def test_lines_of_which_each_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text("\n".join(json.dumps({f"v{row}": 1.5}) for row in range(30_000)))
    with pytest.raises(InputError, match=r"30,000 lines have 30,000 different names"):
        read_embeddings(path)

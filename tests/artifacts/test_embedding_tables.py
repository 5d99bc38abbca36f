"""Tables read by pieces: every format gives the same rows, and faults are one line."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sag_vicreg.artifacts import ColumnNames, EmbeddingTable, open_table
from sag_vicreg.artifacts.id_hashes import hash_ids
from sag_vicreg.artifacts.table_files import _by_number, one_line
from sag_vicreg.artifacts.table_samples import _take, gather, ids_of
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from tables import as_table, names_of, write_folder

N, D = 700, 5


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)


def everything(table: EmbeddingTable) -> np.ndarray:
    return np.concatenate([x for piece in table.pieces for _, x in table.blocks(piece)])


def test_a_folder_is_one_table_in_the_order_of_its_files(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    write_folder(tmp_path / "t", vectors, names_of(N))
    (tmp_path / "t" / "_SUCCESS").touch()
    (tmp_path / "t" / ".part-9.parquet").write_bytes(b"half a file")
    table = open_table(tmp_path / "t")
    assert (table.rows, table.dimensions, table.id_column) == (N, D, "id")
    assert len(table.pieces) == 9
    assert [piece.start for piece in table.pieces][:3] == [0, 100, 200]
    np.testing.assert_array_equal(everything(table), vectors)
    ids = [text for piece in table.pieces for part in table.ids(piece) for text in part.to_pylist()]
    assert ids == names_of(N).tolist()
    whole = table.whole()
    np.testing.assert_array_equal(whole.vectors, vectors)
    assert whole.ids is not None
    assert whole.ids.tolist() == ids
    assert table.id_of(401) == "item 401"


def test_numbered_files_are_in_the_order_of_their_numbers(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    """Without ids a row is told by its position: padded or not, the numbers say it."""
    for folder, form in (("plain", "part-{}.parquet"), ("padded", "part-{:03d}.parquet")):
        (tmp_path / folder).mkdir()
        for number, rows in enumerate(np.split(vectors, 14)):
            pq.write_table(
                pa.table({"vector": list(rows)}), tmp_path / folder / form.format(number)
            )
        np.testing.assert_array_equal(everything(open_table(tmp_path / folder)), vectors)
    names = [
        *("d/part.npy", "d/part1.npy", "d/part2.npy", "d/part10.npy", "d/part10b.npy"),
        *("d1/part9.npy", "d02/a9b2.npy", "d02/a9b10.npy", "d10/a.npy", "e/000.npy", "e/1.npy"),
    ]
    shuffled = np.random.default_rng(0).permutation(names).tolist()
    assert sorted(shuffled, key=_by_number) == names


@pytest.mark.parametrize(
    "kind", ["pattern", "arrow", "stream", "feather", "npy", "columns", "lists"]
)
def test_every_source_gives_the_same_rows(tmp_path: Path, vectors: np.ndarray, kind: str) -> None:
    table = as_table(vectors, names_of(N))
    where = tmp_path / "x.parquet"
    if kind == "pattern":
        write_folder(tmp_path / "deep" / "t", vectors, names_of(N))
        where = tmp_path / "*" / "t" / "part-*.parquet"
    elif kind in ("arrow", "stream"):
        where = tmp_path / "x.arrow"
        opened = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with opened(where, table.schema) as file:
            file.write_table(table, max_chunksize=150)
    elif kind == "feather":
        where = tmp_path / "x.feather"
        pyarrow.feather.write_feather(table, where, chunksize=150)
    elif kind == "npy":
        where = tmp_path / "x.npy"
        np.save(where, np.asfortranarray(vectors))
    elif kind == "columns":
        wide = {f"v{k}": vectors[:, k] for k in range(D)}
        pq.write_table(pa.table({"key": names_of(N), **wide}), where, row_group_size=150)
    else:
        pq.write_table(pa.table({"key": names_of(N), "v": vectors.tolist()}), where)
    named = ColumnNames(id_column="key") if kind in ("columns", "lists") else None
    found = open_table(where, names=named)
    np.testing.assert_array_equal(everything(found), vectors)
    hashes = np.concatenate([found.hashes(piece)[0] for piece in found.pieces])
    if kind != "npy":
        np.testing.assert_array_equal(hashes, hash_ids(pa.array(names_of(N))))
    rows = np.array([0, 3, 149, 150, 151, 699])
    np.testing.assert_array_equal(gather(found, rows, Passes(1)), vectors[rows])


def test_a_large_array_is_cut_into_pieces_of_equal_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sag_vicreg.artifacts.embedding_tables.BLOCK_BYTES", 3_000 * 4_096)
    large = np.random.default_rng(0).random((17_000, 1_024), np.float32)
    np.save(tmp_path / "x.npy", large)
    table = open_table(tmp_path / "x.npy")
    assert [piece.rows for piece in table.pieces] == [8_192, 8_192, 616]  # of 32 MB
    np.testing.assert_array_equal(everything(table), large)


@pytest.mark.parametrize("kinds", [("i8", "f4"), ("f2", "f4"), ("i1", "f4"), ("f4", "f8")])
def test_files_that_hold_their_numbers_in_several_ways(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    """As the first file holds them, those of the others need not fit."""
    parts = np.arange(40).reshape(10, 4), 1e5 * np.pi * np.arange(40).reshape(10, 4)
    parts = tuple(part.astype(kind) for part, kind in zip(parts, kinds, strict=True))
    for place, part in enumerate(parts):
        np.save(tmp_path / f"{place}.npy", part)
    table = open_table(tmp_path)
    expected = np.concatenate(parts)
    rows = np.array([3, 12, 19, 0])
    np.testing.assert_array_equal(gather(table, rows, Passes()), expected[rows])
    np.testing.assert_array_equal(table.whole().vectors, expected)


def test_a_wildcard_does_not_reach_into_folders_below(tmp_path: Path) -> None:
    for folder in ("", "old", "new"):
        (tmp_path / folder).mkdir(exist_ok=True)
        np.save(tmp_path / folder / "x.npy", np.eye(3) + len(folder))
    assert open_table(f"{tmp_path}/*.npy").rows == 3
    assert open_table(f"{tmp_path}/*/*.npy").rows == 6
    assert open_table(f"{tmp_path}/o*/x.npy").rows == 3


def test_caches_beside_a_saved_dataset_are_no_rows(tmp_path: Path, vectors: np.ndarray) -> None:
    write = pyarrow.feather.write_feather
    for name, rows in (("data-0.arrow", slice(50)), ("cache-1c80.arrow", slice(20))):
        write(as_table(vectors[rows]), tmp_path / name, compression="uncompressed")
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "data-0.arrow"}]}')
    assert open_table(tmp_path).rows == 50


def test_an_array_whose_name_is_not_utf8_is_read(tmp_path: Path, vectors: np.ndarray) -> None:
    np.save(tmp_path / os.fsdecode(b"caf\xe9.npy"), vectors)
    np.testing.assert_array_equal(everything(open_table(tmp_path)), vectors)


def test_ids_are_taken_before_they_become_objects(tmp_path: Path, vectors: np.ndarray) -> None:
    ids = names_of(len(vectors))
    table = open_table(write_folder(tmp_path / "t", vectors, ids, row_group=40))
    rows = np.array([len(vectors) - 1, 0, 41, 3])
    assert ids_of(table, rows, Passes(1)).tolist() == ids[rows].tolist()

    class Block:
        """Texts as Arrow has them; all of them as objects would take too long."""

        def __len__(self) -> int:
            return 40

        def take(self, rows: np.ndarray) -> list[str]:
            return [f"text {row}" for row in rows]

        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise AssertionError("every text became an object")

    taken = _take((table.pieces[0], np.array([1, 3])), read=lambda _: [Block()])
    assert taken.tolist() == ["text 1", "text 3"]


def refused(where: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        everything(open_table(where))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_files_that_do_not_go_together_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    folder = write_folder(tmp_path / "t", vectors, names_of(N))
    pq.write_table(as_table(vectors[:, :3], names_of(N)), folder / "part-9.parquet")
    assert "part-9.parquet: its vectors have 3 dimensions and those of" in refused(folder)
    lists = pa.table({"id": names_of(9), "vector": [[1.0, 2.0]] * 9})
    pq.write_table(lists, folder / "part-9.parquet")
    assert "have 2 dimensions and those of" in refused(folder)
    pq.write_table(as_table(vectors), folder / "part-9.parquet")
    assert "part-9.parquet: there is no column 'id', which" in refused(folder)
    (folder / "part-9.parquet").write_bytes(b"PAR1 but no more")
    assert "part-9.parquet: not a file of embeddings" in refused(folder)
    (folder / "part-9.parquet").unlink()
    np.save(folder / "x.npy", vectors)
    assert "there are .npy and .parquet files" in refused(folder)


@pytest.mark.parametrize("more", [{"id": ["a", "b"]}, {"v2": [0.5, 1.5]}])
@pytest.mark.parametrize("first", [True, False], ids=["the first has more", "the second"])
def test_columns_that_one_file_alone_has_are_refused(
    tmp_path: Path, more: dict[str, list[object]], first: bool
) -> None:
    """Ids would be ignored, and dimensions left out, without a word."""
    plain = {"v0": [0.5, 1.0], "v1": [1.0, 2.5]}
    for place, has_more in enumerate((first, not first)):
        pq.write_table(pa.table(plain | more if has_more else plain), tmp_path / f"{place}.parquet")
    with pytest.raises(InputError, match=f"there is (no|a) column '{next(iter(more))}', which"):
        open_table(tmp_path)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "there is no such file or folder" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "there are no .parquet or" in refused(tmp_path / "empty")
    assert "files of such a name" in refused(tmp_path / "empty" / "*.parquet")
    (tmp_path / "x.csv").write_text("v0\n1\n")
    assert "the name must end in" in refused(tmp_path / "x.csv")
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "Python objects" in refused(tmp_path / "x.npy")
    assert "nosuch://bucket/x: " in refused("nosuch://bucket/x")


def test_a_link_that_leads_back_is_not_followed(tmp_path: Path, vectors: np.ndarray) -> None:
    folder = write_folder(tmp_path / "t", vectors, names_of(N))
    (folder / "deeper").mkdir()
    for name in ("up", "again"):
        (folder / "deeper" / name).symlink_to(folder)
    (tmp_path / "linked").symlink_to(folder)
    for where in (folder, tmp_path / "linked", tmp_path / "linked" / "*"):
        assert open_table(where).rows == N
    (tmp_path / "circle").symlink_to("circle")
    assert "there is no such file or folder" in refused(tmp_path / "circle")


def test_a_place_is_told_by_its_folder_where_names_repeat(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        pq.write_table(as_table(vectors, names_of(N)), tmp_path / part / "x.parquet")
    assert open_table(tmp_path).place_of(N + 3) == f"3 of {tmp_path}/b/x.parquet"
    assert open_table(tmp_path / "b").place_of(3) == "3 of x.parquet"


def test_ids_that_numpy_would_take_for_one_are_refused(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "a\0"], "vector": [[1.0], [2.0]]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="a NUL character"):
        open_table(tmp_path / "x.parquet").whole()


def test_addresses_that_are_none(tmp_path: Path) -> None:
    for where in ("http://x/y", "file://", "://", "foo bar://x"):
        assert f"{where}: it is no address that can be read" in refused(where)
    assert "Embedded NUL" in refused(f"{tmp_path}/a\0b")


def test_what_changes_while_it_is_read_is_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    folder = write_folder(tmp_path / "t", vectors, names_of(N))
    table = open_table(folder)
    (folder / "part-1.parquet").unlink()
    with pytest.raises(InputError, match=r"part-1\.parquet: the file is gone"):
        everything(table)
    pq.write_table(as_table(vectors[:50], names_of(50)), folder / "part-1.parquet")
    with pytest.raises(InputError, match="100 rows became 50 while it was read"):
        everything(table)


def test_an_error_without_a_word_is_called_by_its_name() -> None:
    with (
        pytest.raises(InputError, match=r"x\.parquet: cannot be read \(EOFError\)"),
        one_line("x.parquet"),
    ):
        raise EOFError


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    vectors[407, 2] = np.nan
    folder = write_folder(tmp_path / "t", vectors, names_of(N))
    assert "part-1.parquet: row 73 of part 1 holds NaN" in refused(folder)

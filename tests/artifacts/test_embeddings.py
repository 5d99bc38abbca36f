"""Embedding files: five formats in, one out, ids aligned or refused, bad files told in one line."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from sag_vicreg import door
from sag_vicreg.artifacts import (
    Contents,
    Embeddings,
    check_embeddings_path,
    join,
    read_contents,
    read_embeddings,
    read_metadata,
    write_embeddings,
)
from sag_vicreg.errors import InputError

VECTORS = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
IDS = np.array([f"{row:03d}" for row in range(7)])
NAMES = np.array(["cat", "cat", "dog", "dog", "dog", "über", "cat"])


def write_npy(path: Path) -> None:
    np.save(path, VECTORS)


def write_npz(path: Path) -> None:
    np.savez_compressed(path, vectors=VECTORS, ids=IDS, labels=NAMES)


def write_csv(path: Path) -> None:
    rows = [
        f"{i},{n}," + ",".join(map(repr, map(float, v)))
        for i, n, v in zip(IDS, NAMES, VECTORS, strict=True)
    ]
    path.write_text("\n".join(["id,label,x0,x1,x2", *rows]) + "\n", encoding="utf-8")


def write_parquet(path: Path) -> None:
    write_embeddings(path, Embeddings(VECTORS, IDS, NAMES))


def write_safetensors(path: Path) -> None:
    save_file({"vectors": VECTORS, "labels": np.arange(7)}, path)


WRITERS = {
    ".npy": write_npy,
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".safetensors": write_safetensors,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_back_the_vectors(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"e{suffix}"
    WRITERS[suffix](path)
    read = read_embeddings(path)
    np.testing.assert_array_equal(read.vectors, VECTORS)
    if suffix in (".npz", ".csv", ".parquet"):
        assert read.ids is not None
        assert read.labels is not None
        assert read.ids.tolist() == IDS.tolist()
        assert read.labels.tolist() == NAMES.tolist()


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9])
def test_a_truncated_file_is_one_line_naming_it(tmp_path: Path, suffix: str, keep: float) -> None:
    path = tmp_path / f"e{suffix}"
    WRITERS[suffix](path)
    whole = path.read_bytes()
    if suffix == ".csv":  # text cut between two rows is a shorter table: cut inside one
        whole = whole.replace(b"\n", b"\n,")
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(InputError) as caught:
        read_embeddings(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", WRITERS)
def test_noise_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"e{suffix}"
    path.write_bytes(np.random.default_rng(1).bytes(500))
    with pytest.raises(InputError, match="truncated, corrupt"):
        read_embeddings(path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_flipped_byte_never_escapes_as_a_traceback(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"e{suffix}"
    WRITERS[suffix](path)
    whole = path.read_bytes()
    refused = 0
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        try:
            read_embeddings(path)
        except InputError:
            refused += 1
    assert refused > 0


def test_half_precision_is_rounded_and_says_what_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    write_embeddings(
        path,
        Embeddings(VECTORS, IDS, NAMES),
        metadata={"dataset": "größer", "model": "abc"},
        half_precision=True,
    )
    read = read_embeddings(path)
    assert read.vectors.dtype == np.float16
    np.testing.assert_array_equal(read.vectors, VECTORS.astype(np.float16))
    assert read.labels is not None
    assert read.labels.tolist() == NAMES.tolist()
    assert read_metadata(path) == {"dataset": "größer", "model": "abc"}


def test_what_half_precision_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    with pytest.raises(InputError, match="beyond 65,504"):
        write_embeddings(path, Embeddings(VECTORS * 1e6), half_precision=True)
    assert not path.exists()


def test_a_file_without_metadata_has_none_and_a_damaged_one_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    write_parquet(path)
    assert read_metadata(path) == {}
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match="truncated, corrupt"):
        read_metadata(path)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


@pytest.mark.parametrize("kind", ["object.npy", "raw.npy", "object.npz", "raw.npz"])
def test_pickles_are_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / kind
    if kind.startswith("raw"):
        path.write_bytes(pickle.dumps(Bomb()))
    elif kind.endswith("npy"):
        np.save(path, np.array([Bomb()], dtype=object), allow_pickle=True)
    else:
        np.savez(path, vectors=np.array([Bomb()], dtype=object))
    with pytest.raises(InputError, match=r"Python objects|pickles are not read"):
        read_embeddings(path)
    assert not (tmp_path / "exploded").exists()


def test_a_header_that_promises_too_much_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "huge.npy"
    np.save(path, VECTORS)
    text = path.read_bytes()
    path.write_bytes(text.replace(b"(7, 3), }         ", b"(7000000000, 3), }"))
    with pytest.raises(InputError, match="truncated, corrupt"):
        read_embeddings(path)


def test_names_and_shapes_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.npy"):
        read_embeddings(tmp_path / "e.pt")
    with pytest.raises(InputError, match="no such file"):
        read_embeddings(tmp_path / "e.npy")
    with pytest.raises(InputError, match="File name too long"):
        read_embeddings(tmp_path / f"{'e' * 300}.npy")
    with pytest.raises(InputError, match="File name too long"):
        check_embeddings_path(tmp_path / f"{'e' * 300}.parquet")
    np.save(tmp_path / "flat.npy", np.zeros(5))
    with pytest.raises(InputError, match=r"shape \(5,\): expected two axes"):
        read_embeddings(tmp_path / "flat.npy")
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    with pytest.raises(InputError, match="expected a float dtype"):
        read_embeddings(tmp_path / "text.npy")
    np.savez(tmp_path / "two.npz", a=VECTORS, b=VECTORS)
    with pytest.raises(InputError, match=r"no array called 'vectors' \(found: a, b\)"):
        read_embeddings(tmp_path / "two.npz")
    with (tmp_path / "renamed.npy").open("wb") as file:
        np.savez(file, vectors=VECTORS)
    with pytest.raises(InputError, match="rename it"):
        read_embeddings(tmp_path / "renamed.npy")


def test_csv_with_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("id,x0\n,1\nb,2\n")
    assert read_embeddings(path).ids is not None
    path.write_text("id,x0,x1\na,1,2\nb,3\n")
    with pytest.raises(InputError, match="truncated, corrupt"):
        read_embeddings(path)


def test_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("x,x\n1,2\n3,4\n")
    np.testing.assert_array_equal(read_embeddings(path).vectors, [[1, 2], [3, 4]])
    path.write_text("id,id,x\na,b,2\nc,d,4\n")
    with pytest.raises(InputError, match="more than one column 'id'"):
        read_embeddings(path)


def test_parquet_of_other_makers(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"id": [3, 1], "embedding": [[1.0, 2.0], [3.0, 4.0]]}), path)
    read = read_embeddings(path)
    assert read.ids is not None
    assert read.ids.tolist() == ["3", "1"]
    np.testing.assert_array_equal(read.vectors, [[1, 2], [3, 4]])
    pq.write_table(pa.table({"vector": [[1.0, 2.0], [3.0]]}), path)
    with pytest.raises(InputError, match="row 0 has 2 numbers, row 1 has 1"):
        read_embeddings(path)
    pq.write_table(pa.table({"id": ["a", None], "vector": [[1.0], [3.0]]}), path)
    with pytest.raises(InputError, match="column 'id' has no value in row 1"):
        read_embeddings(path)
    pq.write_table(pa.table({"id": ["a"]}), path)
    with pytest.raises(InputError, match="the vectors are missing"):
        read_embeddings(path)
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), path)
    with pytest.raises(InputError, match="no rows"):
        read_embeddings(path)


def test_bfloat16_safetensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    vectors = torch.randn(5, 4).to(torch.bfloat16)
    save_torch({"anything": vectors}, tmp_path / "e.safetensors")
    np.testing.assert_array_equal(
        read_embeddings(tmp_path / "e.safetensors").vectors, vectors.float().numpy()
    )


def test_parquet_round_trip_of_integer_labels_and_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    write_embeddings(path, Embeddings(VECTORS, labels=np.arange(7)))
    read = read_embeddings(path)
    assert read.ids is None
    assert read.labels is not None
    assert read.labels.dtype == np.int64
    vector = pq.read_schema(path).field("vector").type
    assert vector == pa.list_(pa.float32(), 3)
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        write_embeddings(tmp_path / "e.npy", read)


def test_rows_whose_values_changed_are_refused_and_a_choice_of_rows_is_not(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    write_parquet(path)
    table = pq.read_table(path)
    pq.write_table(table.slice(2), path)
    assert len(read_embeddings(path)) == 5
    pq.write_table(table.take([1, 0, 2, 3, 4, 5, 6]), path)
    with pytest.raises(InputError, match=r"not those that `sag-vicreg` wrote.*note 'sha256'"):
        read_embeddings(path)
    pq.write_table(table.append_column("cluster", pa.array(range(7))), path)
    np.testing.assert_array_equal(read_embeddings(path).vectors, VECTORS)


def test_a_file_says_what_its_rows_are(tmp_path: Path) -> None:
    path = tmp_path / "anything.parquet"
    contents = Contents("folder:größe", "test", "cat,dog", 3, "abc", max_images=7)
    write_embeddings(path, Embeddings(VECTORS, IDS), metadata=contents.to_metadata())
    assert read_contents(path) == contents
    assert contents.images == replace(contents, model="def", made_by="reproduce").images
    write_embeddings(path, Embeddings(VECTORS, IDS), metadata={"dataset": "mine"})
    assert read_contents(path) is None
    broken = contents.to_metadata() | {"seed": "-1"}
    write_embeddings(path, Embeddings(VECTORS, IDS), metadata=broken)
    with pytest.raises(InputError, match="seed: Input should be greater"):
        read_contents(path)


def test_join_by_id_follows_the_first() -> None:
    a = Embeddings(VECTORS, IDS, NAMES)
    shuffle = np.random.default_rng(2).permutation(7)
    joined = join([a, a.take(shuffle), a])
    for each in joined.sets:
        np.testing.assert_array_equal(each.vectors, VECTORS)
        assert each.labels is not None
        assert each.labels.tolist() == NAMES.tolist()
    assert (joined.by, joined.left_out, joined.note("abc")) == ("id", (0, 0, 0), None)


def test_join_refuses_and_names_the_id_or_takes_what_all_have() -> None:
    a = Embeddings(VECTORS, IDS)
    some = a.take(slice(2, None))
    with pytest.raises(
        InputError, match=r"id '000' is missing from new\.npz \(2 missing.*--join inner"
    ):
        join([a, some], ("old.npz", "new.npz"))
    with pytest.raises(InputError, match="id '006' is missing from set 1"):
        join([a.take(slice(0, 6)), a])
    with pytest.raises(InputError, match=r"id '003' is repeated in set 2 \(rows 1 and 2\)"):
        join([a, a.take(np.array([0, 3, 3]))], how="inner")
    joined = join([a, some.take(slice(None, None, -1)), a.take(slice(0, 4))], how="inner")
    for each in joined.sets:
        np.testing.assert_array_equal(each.vectors, VECTORS[2:4])
    assert joined.left_out == (5, 3, 2)
    assert joined.note(("x", "y", "z")) == (
        "left out rows whose id not every set has: 5 of x, 3 of y, 2 of z"
    )
    with pytest.raises(InputError, match="no id in common"):
        join([a.take(slice(0, 3)), a.take(slice(3, 6))], how="inner")
    with pytest.raises(InputError, match="unknown join 'outer'"):
        join([a, a], how="outer")


def test_join_by_position_needs_equal_lengths() -> None:
    a, b = Embeddings(VECTORS, IDS), Embeddings(VECTORS[:5])
    for how in ("exact", "inner"):
        with pytest.raises(InputError, match="set 1 has 7 rows and set 2 has 5"):
            join([a, b], how=how)
    joined = join([a, Embeddings(VECTORS * 2)])
    assert joined.sets[1].ids is None
    assert joined.by == "position"


def test_columns_must_be_as_long_as_the_vectors() -> None:
    with pytest.raises(InputError, match="labels have shape"):
        Embeddings(VECTORS, labels=np.arange(3))


def test_whole_numbers_are_not_taken_as_floats_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte in the file is eight in memory."""
    np.save(tmp_path / "bytes.npy", np.ones((1000, 100), np.uint8))
    monkeypatch.setattr(door, "available_bytes", lambda: 800_000)
    assert read_embeddings(tmp_path / "bytes.npy").vectors.dtype == np.float64
    monkeypatch.setattr(door, "available_bytes", lambda: 799_999)
    with pytest.raises(InputError, match="take fewer rows or columns"):
        read_embeddings(tmp_path / "bytes.npy")

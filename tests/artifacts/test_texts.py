"""The text column of embedding files: read from every format, never a dimension, safe to show."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sag_vicreg.artifacts import ColumnNames, Embeddings, join, open_table, read_embeddings, shorten
from sag_vicreg.artifacts.texts import MOST_KEPT, text_column
from sag_vicreg.errors import InputError

VECTORS = np.random.default_rng(0).normal(size=(4, 3))
TEXTS = ["first, with a comma", "two\nlines", "007", ""]
SHOWN = ["first, with a comma", "two lines", "007", ""]


def write_csv(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "about", "v0", "v1", "v2"])
        rows.writerows([k, TEXTS[k], *VECTORS[k].tolist()] for k in range(4))


def write_jsonl(path: Path) -> None:
    rows = ({"about": TEXTS[k], "vector": VECTORS[k].tolist()} for k in range(4))
    path.write_text("\n".join(map(json.dumps, rows)))


def table() -> pa.Table:
    return pa.table({"about": TEXTS, "vector": VECTORS.tolist()})


WRITERS = {
    "x.csv": write_csv,
    "x.jsonl": write_jsonl,
    "x.parquet": lambda path: pq.write_table(table(), path),
    "x.feather": lambda path: pyarrow.feather.write_feather(table(), path),
    "x.npz": lambda path: np.savez(path, about=np.array(TEXTS), vectors=VECTORS),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_has_texts_beside_the_same_vectors(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    found = read_embeddings(tmp_path / name, text_column="about")
    np.testing.assert_array_equal(found.vectors, VECTORS)
    assert found.texts is not None
    assert found.texts.tolist() == SHOWN
    assert found.take(np.array([2, 0])).texts.tolist() == ["007", SHOWN[0]]  # type: ignore[union-attr]


def test_a_frame_has_texts() -> None:
    found = read_embeddings(table(), text_column="about")
    assert found.texts is not None
    assert found.texts.tolist() == SHOWN
    assert read_embeddings(table()).texts is None


def test_a_column_of_numbers_that_is_text_is_no_dimension(tmp_path: Path) -> None:
    columns = {f"v{k}": VECTORS[:, k] for k in range(3)}
    pq.write_table(pa.table({"v3": [0.5, 1.5, 2.5, 3.5], **columns}), tmp_path / "x.parquet")
    assert read_embeddings(tmp_path / "x.parquet").vectors.shape == (4, 4)
    found = read_embeddings(tmp_path / "x.parquet", text_column="v3")
    assert found.vectors.shape == (4, 3)
    assert found.texts is not None
    assert found.texts.tolist() == ["0.5", "1.5", "2.5", "3.5"]


def test_repeated_texts_of_a_dictionary_and_missing_ones() -> None:
    texts = pa.array(["a", None, "b", "a"]).dictionary_encode()
    found = read_embeddings(pa.table({"t": texts, "vector": VECTORS.tolist()}), text_column="t")
    assert found.texts is not None
    assert found.texts.tolist() == ["a", "", "b", "a"]


def test_long_texts_and_control_characters_end_at_the_door() -> None:
    texts = ["word " * 10_000, "\x1b[2Jcleared\u202e", "x" * MOST_KEPT, "x" * (MOST_KEPT + 1)]
    found = read_embeddings(pa.table({"t": texts, "v": VECTORS.tolist()}), text_column="t").texts
    assert found is not None
    assert found[0].startswith("word word")
    assert found[0].endswith("…")
    assert max(map(len, found)) <= MOST_KEPT
    assert found[1] == "\\x1b[2Jcleared\\u202e"
    assert found[2] == texts[2]
    assert found[3] == "x" * (MOST_KEPT - 1) + "…"


def test_a_text_is_cut_visibly_wherever_the_cut_falls() -> None:
    text = "one two three"
    for most in range(2, len(text)):
        assert shorten(text, most).endswith("…")
        assert len(shorten(text, most)) <= most
    assert shorten(text, len(text)) == text
    assert shorten("one" + " " * 50 + "two", 7) == "one…"


def test_bad_text_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--text-column: there is no 'body' among 'about'"):
        read_embeddings(table(), text_column="body")
    with pytest.raises(InputError, match=r"'other' is list.* expected text or numbers"):
        read_embeddings(
            pa.table({"other": [["a"]] * 4, "vector": VECTORS.tolist()}), text_column="other"
        )
    np.savez(tmp_path / "x.npz", t=np.zeros((4, 2)), vectors=VECTORS)
    with pytest.raises(InputError, match="expected one text per row"):
        read_embeddings(tmp_path / "x.npz", text_column="t", vector_columns="vectors")
    with pytest.raises(InputError, match="texts have shape"):
        Embeddings(VECTORS, texts=np.array(["a"], object))
    pq.write_table(table(), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="--text-column is for single files"):
        open_table(tmp_path / "x.parquet", names=ColumnNames(text_column="about"))


def test_joined_sets_have_the_texts_of_the_first_that_has_any() -> None:
    ids = np.array(["a", "b", "c", "d"])
    plain = Embeddings(VECTORS, ids)
    told = Embeddings(VECTORS[::-1], ids[::-1], texts=np.array(["D", "C", "B", "A"], object))
    assert join([plain, plain]).texts is None
    found = join([plain, told]).texts
    assert found is not None
    assert found.tolist() == ["A", "B", "C", "D"]


class Marked(pa.ExtensionType):
    """Text under a name of its own, as Arrow's JSON is."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "sag_vicreg.tests.marked")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Marked":
        return cls()


def test_texts_of_an_extension_type_are_texts() -> None:
    texts = pa.ExtensionArray.from_storage(Marked(), pa.array(["a", None, "b"]))
    assert text_column(pa.table({"about": texts}), "about").tolist() == ["a", "", "b"]


def test_long_texts_are_not_copied_whole() -> None:
    texts = pa.table({"about": [letter * 4_000_000 for letter in "abcdefgh"]})
    pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        found = text_column(texts, "about")
    finally:
        pa.set_memory_pool(usual)
    assert len(found) == 8
    assert pool.max_memory() < 4_000_000

"""Tables of any making: exactly the vectors come out of them, or a line that says what to type."""

import csv
import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_vicreg.artifacts import read_embeddings
from sag_vicreg.artifacts.columns import select
from sag_vicreg.errors import InputError

ROWS = 9
Table = dict[str, list[Any]]


def write(path: Path, columns: Table, metadata: dict[str, str] | None = None) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return path


def dimensions(d: int = 5, name: str = "dim_{}", seed: int = 0) -> Table:
    values = np.random.default_rng(seed).normal(size=(d, ROWS))
    return {name.format(k): values[k].tolist() for k in range(d)}


def matrix(columns: Table) -> np.ndarray:
    return np.array(list(columns.values())).T


EXTRAS: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(0, 10**6),
    "fraction": st.floats(-1e3, 1e3).filter(lambda x: x % 1 != 0),
    "whole float": st.integers(1, 1000).map(float),
    "text": st.sampled_from(["a cat", "a dog", "x"]),
    "flag": st.booleans(),
}
AFFIXES = st.from_regex(r"[A-Za-z][A-Za-z0-9_ .:,\[()'-]*[A-Za-z_ .:,\[(-]", fullmatch=True)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, Table]:
    """Dimensions numbered in any manner and order, and any columns beside them."""
    before = draw(st.sampled_from(["dim_", "v", "", "embedding.", "x", "('emb', '"]) | AFFIXES)
    after = draw(st.sampled_from(["", "]", "_x", "')"]))
    start, width = draw(st.integers(0, 1)), draw(st.sampled_from([1, 3]))
    d = draw(st.integers(2, 12))
    numbers = draw(st.permutations(range(start, start + d)))
    if not before + after:  # other numbers may be a header or a row
        numbers = list(range(d))
    values = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(d, ROWS))
    if draw(st.booleans()):  # quantised
        values = np.rint(100 * values).astype(np.int64)
        values[0] = 0 if draw(st.booleans()) else values[0]
    vectors = {
        f"{before}{k:0{width}d}{after}": column.tolist()
        for k, column in zip(numbers, values, strict=True)
    }
    # An extra column whose name continues the series cannot be told from a dimension by anyone.
    names = (
        st.sampled_from(["doc_id", "price", "timestamp", "class", "index", "year2020"]) | AFFIXES
    )
    alike = re.compile(re.escape(before) + "[0-9]+" + re.escape(after))
    taken = {"id", "ids", "label", "labels", *vectors}
    extras: Table = {}
    for name in draw(st.lists(names, max_size=3, unique=True)):
        if name not in taken and not alike.fullmatch(name):
            cell = EXTRAS[draw(st.sampled_from(sorted(EXTRAS)))]
            extras[name] = draw(st.lists(cell, min_size=ROWS, max_size=ROWS))
    return vectors, extras


@given(tables(), st.sampled_from([".csv", ".parquet"]), st.randoms())
@settings(max_examples=150, deadline=None)
def test_exactly_the_vectors_or_a_refusal_that_says_what_to_type(
    drawn: tuple[Table, Table], suffix: str, random: Any
) -> None:
    vectors, extras = drawn
    columns = list(vectors.items())
    for extra in extras.items():
        columns.insert(random.randint(0, len(columns)), extra)
    ordered = matrix({name: values for name, values in columns if name in vectors})
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / f"e{suffix}", dict(columns))
        if not extras:
            np.testing.assert_array_equal(read_embeddings(path).vectors, ordered)
            return
        with pytest.raises(InputError) as caught:
            read_embeddings(path)
        message = str(caught.value)
        assert "\n" not in message
        assert all(repr(name)[1:-1] in message for name in extras)
        typed = shlex.split(message.split("add ")[1].split(" to leave")[0])
        assert typed[0] == "--vector-columns"
        assert len(typed) == 2
        np.testing.assert_array_equal(
            read_embeddings(path, vector_columns=typed[1]).vectors, ordered
        )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ({"doc_id": list(range(ROWS))}, "not numbered as dim_0 to dim_4 are"),
        ({"price": [0.5 * k for k in range(ROWS)]}, "not numbered as dim_0 to dim_4 are"),
        ({"title": ["a"] * ROWS}, "text, not numbers"),
        ({"seen": [True, False, True] * 3}, "bool, not numbers"),
        ({"dim_5": [3, 1, 4, 1, 5, 9, 2, 6, 5]}, "whole numbers where others are fractions"),
        ({"dim_5": [3.0, 1, 4, 1, 5, 9, 2, 6, 5]}, "whole numbers where others are fractions"),
    ],
)
def test_one_column_too_many(tmp_path: Path, suffix: str, extra: Table, why: str) -> None:
    path = write(tmp_path / f"e{suffix}", dimensions() | extra)
    (name,) = extra
    with pytest.raises(InputError) as caught:
        read_embeddings(path)
    assert f"column '{name}' ({why}) may be no dimension: " in str(caught.value)
    assert "add --vector-columns dim_0:dim_4 to leave it out" in str(caught.value)
    assert f"--id-column {name} or --label-column {name}" in str(caught.value)
    vectors = matrix(dimensions())
    for said in ({"id_column": name}, {"label_column": name}, {"vector_columns": "dim_0:dim_4"}):
        np.testing.assert_array_equal(read_embeddings(path, **said).vectors, vectors)
    ids = read_embeddings(path, id_column=name).ids
    assert ids is not None
    assert len(ids) == ROWS


def test_a_dimension_that_is_always_zero_is_one(tmp_path: Path) -> None:
    columns = dimensions() | {"dim_5": [0] * ROWS}
    path = write(tmp_path / "e.csv", columns)
    np.testing.assert_array_equal(read_embeddings(path).vectors, matrix(columns))


def test_names_that_are_not_numbered_must_be_named(tmp_path: Path) -> None:
    columns = dict(zip(["age", "height", "a:b"], dimensions(3).values(), strict=True))
    path = write(tmp_path / "e.parquet", columns)
    with pytest.raises(InputError, match=r"not numbered .* add --vector-columns '\*' to take them"):
        read_embeddings(path)
    for said in ("*", "age,height,a:b", ["a:b", "height", "age"]):
        read = read_embeddings(path, vector_columns=said)
        np.testing.assert_array_equal(read.vectors, matrix(columns))
    one = read_embeddings(path, vector_columns="height").vectors
    np.testing.assert_array_equal(one[:, 0], columns["height"])


def test_a_gap_or_a_second_series_is_asked_about(tmp_path: Path) -> None:
    columns = dimensions(6)
    del columns["dim_2"]
    path = write(tmp_path / "e.csv", columns)
    with pytest.raises(InputError, match="not numbered without a gap"):
        read_embeddings(path)
    read = read_embeddings(path, vector_columns="dim_*")
    np.testing.assert_array_equal(read.vectors, matrix(columns))
    other = dimensions(6, "dim_{}_y", seed=1)
    path = write(tmp_path / "e.csv", dimensions(6, "dim_{}_x") | other)
    with pytest.raises(InputError, match="add --vector-columns dim_0_x:dim_5_x to leave them out"):
        read_embeddings(path)
    read = read_embeddings(path, vector_columns="*_y")
    np.testing.assert_array_equal(read.vectors, matrix(other))


def test_a_selection_is_whole_or_refused() -> None:
    names = dict(enumerate(["dim_0", "dim_1", "dim_10", "dim_2", "other", "v:0", "v:1"]))
    assert select("dim_0:dim_2", names) == [0, 1, 3]
    assert select("dim_10,other", names) == [2, 4]
    assert select("v:0:v:1", names) == [5, 6]
    for said, message in (
        ("dim_0:dim_3", "there is no column 'dim_3'"),
        ("dim_0:dim_999999999999", "there is no column 'dim_3'"),
        ("dim_0:other", "there is no 'dim_0:other' among 'dim_0', 'dim_1', 'dim_10', ..., 'v:1'"),
        ("dim_0,dmi_1", "there is no 'dmi_1'"),
        ("x*", r"there is no 'x\*'"),
        ("w0:w3", "there is no 'w0:w3'"),
        ("", "there is no ''"),
    ):
        with pytest.raises(InputError, match=message):
            select(said, names)


def test_ids_and_labels_are_called_alike_in_every_format(tmp_path: Path) -> None:
    columns = dimensions()
    ids, labels = [f"{k:03d}" for k in range(ROWS)], ["cat", "dog", "cow"] * 3
    for identity, label in (("id", "label"), ("ids", "labels")):
        named = {identity: ids, label: labels}
        paths = [write(tmp_path / f"e{suffix}", named | columns) for suffix in (".csv", ".parquet")]
        paths.append(tmp_path / "e.npz")
        np.savez(paths[-1], anything=matrix(columns), **named)
        for path in paths:
            read = read_embeddings(path)
            np.testing.assert_array_equal(read.vectors, matrix(columns))
            assert read.ids is not None
            assert read.labels is not None
            assert (read.ids.tolist(), read.labels.tolist()) == (ids, labels)


def test_of_two_id_columns_one_is_chosen_and_none_is_a_dimension(tmp_path: Path) -> None:
    columns = {"id": list(range(ROWS)), "ids": list("abcdefghi"), "key": ["007"] * ROWS}
    path = write(tmp_path / "e.csv", columns | dimensions())
    with pytest.raises(InputError, match="both 'id' and 'ids': choose by --id-column"):
        read_embeddings(path)
    read = read_embeddings(path, id_column="key")
    assert read.ids is not None
    assert read.ids.tolist() == ["007"] * ROWS
    np.testing.assert_array_equal(read.vectors, matrix(dimensions()))
    with pytest.raises(InputError, match="--label-column: there is no 'kind' among 'id', 'ids'"):
        read_embeddings(path, id_column="id", label_column="kind")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_column_without_a_name_can_be_that_of_the_ids(tmp_path: Path, suffix: str) -> None:
    codes = [f"00{row}" for row in range(ROWS)]
    path = write(tmp_path / f"e{suffix}", {"": codes} | dimensions())
    read = read_embeddings(path, id_column="")
    assert read.ids is not None
    assert read.ids.tolist() == codes
    np.testing.assert_array_equal(read.vectors, matrix(dimensions()))


def test_lists_win_over_single_numbers_and_two_of_them_are_asked_about(tmp_path: Path) -> None:
    vectors = matrix(dimensions())
    columns: Table = {"year": list(range(ROWS)), "text": [["a"]] * ROWS, "v": vectors.tolist()}
    path = write(tmp_path / "e.parquet", columns)
    np.testing.assert_array_equal(read_embeddings(path).vectors, vectors)
    path = write(tmp_path / "e.parquet", columns | {"w": (2 * vectors).tolist()})
    with pytest.raises(InputError, match="vectors may be v or w: choose by --vector-column v"):
        read_embeddings(path)
    np.testing.assert_array_equal(read_embeddings(path, vector_columns="w").vectors, 2 * vectors)
    with pytest.raises(InputError, match="column 'v' holds lists: choose it alone"):
        read_embeddings(path, vector_columns="v,w")
    with pytest.raises(InputError, match=r"column 'text' holds list<.*not numbers: leave it out"):
        read_embeddings(path, vector_columns="text")


def test_a_short_list_beside_a_longer_series_is_asked_about(tmp_path: Path) -> None:
    box = [[0.5, 1.5, 2.5, 3.5]] * ROWS
    path = write(tmp_path / "e.parquet", {"box": box} | dimensions())
    with pytest.raises(InputError, match="vectors may be box or dim_0:dim_4"):
        read_embeddings(path)
    read = read_embeddings(path, vector_columns="dim_0:dim_4")
    np.testing.assert_array_equal(read.vectors, matrix(dimensions()))


def test_lists_as_text_are_told_from_other_text(tmp_path: Path) -> None:
    columns: Table = {"title": ["[sic]"] * ROWS, "price": [0.5] * ROWS}
    path = write(tmp_path / "e.csv", columns | {"embedding": ["[0.5, -1.25]"] * ROWS})
    with pytest.raises(InputError, match=r"'embedding' holds lists as text: save .* \.parquet"):
        read_embeddings(path)


def test_the_index_of_a_data_frame(tmp_path: Path) -> None:
    """What pandas writes: unnamed and named, in text and with its own notes."""
    vectors, index = matrix(dimensions()), list(range(ROWS))
    for name in ("", "Unnamed: 0", "Unnamed: 0.1", "__index_level_0__"):
        for path in (tmp_path / "e.csv", tmp_path / "e.parquet"):
            write(path, {name: index} | dimensions())
            np.testing.assert_array_equal(read_embeddings(path).vectors, vectors)
            write(path, {name: (vectors[:, 0] + 0.5).tolist()} | dimensions())
            with pytest.raises(InputError, match="may be no dimension"):  # not plainly an index
                read_embeddings(path)
    noted = {"pandas": '{"index_columns": ["doc"], "columns": []}'}
    path = write(tmp_path / "e.parquet", {"doc": index} | dimensions(), noted)
    np.testing.assert_array_equal(read_embeddings(path).vectors, vectors)
    ids = read_embeddings(path, id_column="doc").ids
    assert ids is not None
    assert ids.tolist() == [str(row) for row in index]
    with pytest.raises(InputError, match="column 'doc'"):  # text has no such notes
        read_embeddings(write(tmp_path / "e.csv", {"doc": index} | dimensions()))


def test_csv_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    vectors = matrix(dimensions())
    np.savetxt(path, vectors, delimiter=",")
    np.testing.assert_allclose(read_embeddings(path).vectors, vectors, rtol=1e-15)
    np.savetxt(path, np.column_stack([np.arange(ROWS), vectors]), delimiter=",")
    with pytest.raises(InputError, match=r"column '0' .* add --vector-columns 1:5 to leave it out"):
        read_embeddings(path)
    read = read_embeddings(path, id_column="0")
    np.testing.assert_allclose(read.vectors, vectors, rtol=1e-15)
    np.savetxt(path, np.rint(9 * vectors), delimiter=",", fmt="%d")
    with pytest.raises(InputError, match=r"no header, and whole numbers .* --vector-columns '\*'"):
        read_embeddings(path)
    read = read_embeddings(path, vector_columns="*")
    np.testing.assert_array_equal(read.vectors, np.rint(9 * vectors))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n0.5,0.5,0.5\n", "counts from 1 to 3 and may be a header or a row"),
        ("2,0,1\n0.5,0.5,0.5\n", "counts from 0 to 2 and may be a header or a row"),
        ("3,1,2\n0.5,0.5,0.5\n", "counts from 1 to 3 and may be a header or a row"),
        ("cat,0.5,1\ndog,2.5,3\n", "first line holds names and the number 0.5"),
        ("-1,0.5,cat\n2.5,3,dog\n", "first line holds names and the number -1"),
    ],
)
def test_a_first_line_that_may_be_either(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_embeddings(tmp_path / "e.csv")


@pytest.mark.parametrize(("sign", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_than_commas_are_named(tmp_path: Path, sign: str, name: str) -> None:
    (tmp_path / "e.csv").write_text("id,v0,v1\na,0.5,1.5\n".replace(",", sign))
    with pytest.raises(InputError, match=f"columns are separated by {name}: separate"):
        read_embeddings(tmp_path / "e.csv")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["7", "0", "-12"], [7, 0, -12]),
        (["07", "7", "007"], ["07", "7", "007"]),
        (["1.0", "2", "3"], ["1.0", "2", "3"]),
        (["cat", "7", ""], ["cat", "7", ""]),
        (["12345678901234567890123", "1", "2"], ["12345678901234567890123", "1", "2"]),
    ],
)
def test_labels_are_numbers_only_where_all_are_written_so(
    tmp_path: Path, written: list[str], expected: list[object]
) -> None:
    rows = [f"{label},{place}.5,0.25" for place, label in enumerate(written)]
    (tmp_path / "e.csv").write_text("\n".join(["label,v0,v1", *rows]) + "\n")
    labels = read_embeddings(tmp_path / "e.csv").labels
    assert labels is not None
    assert labels.tolist() == expected


@pytest.mark.parametrize("header", ["0,1,2", '"0","1","2"', "0_0,0_1,0_2"])
def test_a_header_of_numbers(tmp_path: Path, header: str) -> None:
    (tmp_path / "e.csv").write_text(f"{header}\n0.5,0.25,2.5\n1.5,2.25,3.5\n")
    vectors = read_embeddings(tmp_path / "e.csv").vectors
    np.testing.assert_array_equal(vectors, [[0.5, 0.25, 2.5], [1.5, 2.25, 3.5]])


def test_arrays_of_an_archive_are_chosen_by_the_same_options(tmp_path: Path) -> None:
    vectors = matrix(dimensions())
    np.savez(tmp_path / "e.npz", old=vectors, new=2 * vectors, keys=np.arange(ROWS))
    with pytest.raises(InputError, match=r"found: old, new, keys.*by --vector-column"):
        read_embeddings(tmp_path / "e.npz")
    read = read_embeddings(tmp_path / "e.npz", vector_columns="new", id_column="keys")
    np.testing.assert_array_equal(read.vectors, 2 * vectors)
    assert read.ids is not None
    np.save(tmp_path / "e.npy", vectors)
    read = read_embeddings(tmp_path / "e.npy", vector_columns="dim_*")  # has no names to choose by
    np.testing.assert_array_equal(read.vectors, vectors)

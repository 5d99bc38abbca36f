"""Tables that are not held, checked and decided on as sets in memory are."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, open_table
from sag_vicreg.artifacts.table_samples import sample_tables
from sag_vicreg.cli import app
from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.large import open_large
from sag_vicreg.decisions import Settings, check_join, check_set, gate
from sag_vicreg.decisions.checking import look
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from tables import names_of, two_sets, write_folder

N = 700
QUICK = ("--trees", "8", "--items", "200")
# Asked for, folders are read by pieces however few rows they have.
BY_PIECES = ("--memory", "2GB")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    a, b = two_sets(N)
    order = np.random.default_rng(1).permutation(N)
    return [
        write_folder(tmp_path / "old", a, names_of(N)),
        write_folder(tmp_path / "new", b[order], names_of(N)[order], files=2, row_group=64),
    ]


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "120"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("threads", [1, 3])
def test_a_table_is_found_to_hold_what_the_same_set_in_memory_does(
    tmp_path: Path, threads: int
) -> None:
    x, ids = two_sets(N)[0].copy(), names_of(N)
    x[3, 1], x[250, 0], x[255, 2] = np.nan, np.inf, -np.inf
    x[[40, 41, 600]] = 0
    x[500:520] = x[100:120]
    x[300:310] = 2 * x[10:20] + 1e-4
    x[:, 5] = 0
    ids[[9, 650]] = ""
    ids[[20, 699]] = "item 0"
    table = open_table(write_folder(tmp_path / "t", x, ids, row_group=37))
    found = check_set(table, "x", passes=Passes(threads))
    assert found == check_set(Embeddings(x, ids), "x")
    assert (found.not_finite, found.zero, found.duplicates) == (3, 3, 22)
    assert (found.empty_ids, found.repeated_ids, found.constant_dimensions) == (2, 2, 1)


def test_the_sample_is_the_same_however_the_table_is_cut(tmp_path: Path) -> None:
    few = {"most_paired": 100, "most_norms": 50}
    x = np.repeat(two_sets(N)[0][: N // 2], 2, axis=0)
    x[1::2] += np.float32(1e-5)
    found = check_set(open_table(write_folder(tmp_path / "t", x, row_group=29)), "x", **few)
    assert found == check_set(Embeddings(x), "x", **few)
    assert found.sampled == 100
    # A row and its near copy are in the sample together one time in seven.
    assert 0 < found.near_duplicates < 50
    lengths = np.linalg.norm(x, axis=1)
    assert found.norms is not None
    assert found.norms[0] == pytest.approx(lengths.min())
    assert abs((lengths < found.norms[1]).mean() - 0.5) < 0.2


def test_rows_that_repeat_without_end_are_not_held(tmp_path: Path) -> None:
    x = np.concatenate([np.repeat(two_sets(50)[0], 40, axis=0), two_sets(100)[1]])
    table = open_table(write_folder(tmp_path / "t", x, files=1, row_group=len(x)))
    ((_, sampled),) = look(table.pieces[0], table=table, most_paired=10_000, most_norms=10_000)
    assert len(sampled.points) == 150
    assert check_set(table, "x").duplicates == 50 * 39


def test_what_blocks_hold_is_summed_up_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sag_vicreg.artifacts.embedding_tables.BLOCK_BYTES", 8_000)
    x = np.random.default_rng(0).random((1_200, 2_000), np.float32)
    table = open_table(write_folder(tmp_path / "t", x, files=1, row_group=20))
    tracemalloc.start()
    check_set(table, "x", passes=Passes(1), most_paired=10, most_norms=10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The lowest and the highest vector of every block would be 38 MB.
    assert peak < 10e6


def test_how_tables_and_sets_join(folders: list[Path], tmp_path: Path) -> None:
    a, b = map(open_table, folders)
    fewer = Embeddings(np.ones((5, 2)), np.array(["item 3", "item 5", "x", "item 3", "y"]))
    assert check_join([a, b]).to_dict() == {
        "matched_by": "id",
        "common": N,
        "left_over": (0, 0),
    }
    three = check_join([a, b, fewer])
    assert (three.common, three.left_over) == (2, (N - 2, N - 2, 3))
    bare = open_table(write_folder(tmp_path / "bare", two_sets(N)[0]))
    assert check_join([a, bare]).matched_by == "position"
    assert check_join([fewer, bare]).common is None


def test_a_folder_of_many_rows_is_large_and_one_of_few_is_not(tmp_path: Path) -> None:
    x = np.zeros((20_001, 1), np.float32)
    large, small = (write_folder(tmp_path / str(n), x[:n]) for n in (20_001, 20_000))
    assert open_large([small, small], Columns(), asked=False) is None
    found = open_large([small, large], Columns(), asked=False)
    assert [table.rows for table in found or ()] == [20_000, 20_001]


def test_check_reads_a_large_folder_by_pieces(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sag_vicreg.artifacts.EmbeddingTable.whole", None)
    code, out, _ = run("check", *folders, *BY_PIECES, "--json")
    found = json.loads(out)
    assert code == 0
    assert [each["rows"] for each in found["files"]] == [N, N]
    assert found["join"]["common"] == N
    code, out, err = run("check", folders[0], "--memory", "1MB")
    assert (code, out) == (2, "")
    assert "a memory of 1 MB is too small for a check: give at least" in err


def test_both_tables_give_the_same_random_items(folders: list[Path]) -> None:
    a, b = two_sets(N)
    tables = [open_table(folder) for folder in folders]
    one, other = sample_tables(tables, 300, Passes(2), seed=0)
    np.testing.assert_array_equal(one.ids, other.ids)
    rows = np.array([int(name.removeprefix("item ")) for name in one.ids])
    assert len(set(rows.tolist())) == 300
    np.testing.assert_array_equal(one.vectors, a[rows])
    np.testing.assert_array_equal(other.vectors, b[rows])
    times = np.zeros(N)
    for seed in range(20):
        sampled = sample_tables(tables[:1], 300, Passes(), seed=seed)[0]
        times[[int(name.removeprefix("item ")) for name in sampled.ids]] += 1
    expected = 20 * 3 / 7 * 4 / 7
    assert 0.75 * expected < times.var() < 1.25 * expected
    everything = sample_tables(tables, 10_000, Passes(), seed=0)[0]
    assert sorted(everything.ids.tolist()) == sorted(names_of(N).tolist())


def test_the_gate_decides_on_those_items_and_says_of_how_many(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sag_vicreg.artifacts.EmbeddingTable.whole", None)
    code, out, err = run("gate", *folders, *QUICK, *BY_PIECES, "--tolerance", "0.5", "--json")
    # Where kernels are compiled for the first time, that is all that is said.
    assert all("compiling" in line for line in err.splitlines())
    found = json.loads(out)
    tables = [open_table(folder) for folder in folders]
    sets = sample_tables(tables, 200, Passes(), seed=0)
    expected = gate(
        *(each.vectors for each in sets), tolerance=0.5, settings=Settings(trees=8, items=200)
    )
    assert found["forest"]["spearman"] == expected.similarity.spearman
    assert code == expected.exit_code
    assert "decided on 200 items sampled of 700" in found["basis"]
    assert all(each["item"].startswith("item ") for each in found["movements"]["movers"])
    code, out, err = run("gate", *folders, *QUICK, "--memory", "50MB")
    assert (code, out) == (2, "")
    assert "is too small to decide on 200 items: give at least" in err


def test_a_floor_knows_its_tables_again(folders: list[Path], tmp_path: Path) -> None:
    floor = tmp_path / "floor.json"
    code, _, _ = run("calibrate", *folders, *QUICK, *BY_PIECES, "--out", floor)
    assert code == 0
    other = write_folder(tmp_path / "other", -two_sets(N)[1], names_of(N))
    _, out, _ = run("gate", folders[0], other, *BY_PIECES, "--floor", floor)
    assert "lowest of 1 comparison: at most 50.0% of unchanged sets" in out
    code, _, err = run("gate", *folders, *BY_PIECES, "--floor", floor)
    assert code == 2
    assert "NEW is one of the sets the floor was made of" in err


def test_tables_that_do_not_match_are_one_line(folders: list[Path], tmp_path: Path) -> None:
    a, _ = two_sets(N)
    fewer = write_folder(tmp_path / "fewer", a[:-1], names_of(N)[:-1])
    bare = write_folder(tmp_path / "bare", a[:-1])
    for other, words in ((fewer, "'item 699' is missing from"), (bare, "700 rows and")):
        code, out, err = run("gate", folders[0], other, *QUICK, *BY_PIECES)
        assert (code, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
    a[5, 3] = np.nan
    bad = write_folder(tmp_path / "bad", a, names_of(N))
    code, _, err = run("gate", folders[0], bad, *QUICK, *BY_PIECES)
    assert code == 2
    assert "part-0.parquet: row 5 of part 0 holds NaN or infinity" in err


def test_the_memory_of_a_decision_grows_with_its_items() -> None:
    Settings(items=100).check_memory([8, 8], 10**10, threads=2)
    with pytest.raises(InputError, match="or fewer by --items"):
        replace(Settings(), items=30_000).check_memory([8, 8], 10**10, threads=2)

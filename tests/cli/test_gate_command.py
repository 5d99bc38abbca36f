"""`sag-vicreg check`, `gate` and `calibrate` as a user meets them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.cli import app
from sag_vicreg.structure.damage import quantise, shuffle_rows

RNG = np.random.default_rng(0)
OLD = np.repeat(3 * RNG.normal(size=(8, 6)), 25, axis=0) + RNG.normal(size=(200, 6))
IDS = np.array([f"item-{row}" for row in range(200)])
QUICK = ["--trees", "20"]


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    order = RNG.permutation(200)
    write_embeddings("old.parquet", Embeddings(OLD, IDS))
    write_embeddings("int8.parquet", Embeddings(quantise(OLD, 8)[order], IDS[order]))
    write_embeddings("shuffled.parquet", Embeddings(shuffle_rows(OLD, 0.3), IDS))
    np.save("old.npy", OLD)
    for seed in range(3):
        np.save(f"seed{seed}.npy", OLD + RNG.normal(size=OLD.shape))
    return tmp_path


def test_the_exit_code_is_the_decision(files: Path) -> None:
    assert run("gate", "old.parquet", "int8.parquet", *QUICK)[0] == 0
    assert run("gate", "old.parquet", "shuffled.parquet", *QUICK)[0] == 1
    code, out, _ = run("gate", "old.npy", "seed0.npy", *QUICK, "--tolerance", "0.1")
    assert (code == 3) == out.startswith("UNDECIDED")


def test_the_verdict_is_the_first_line(files: Path) -> None:
    _, out, _ = run("gate", "old.parquet", "int8.parquet", *QUICK)
    first, basis = out.splitlines()[:2]
    assert first.startswith("PASS: the structure is kept: the forest similarity is ")
    assert "200 items, 20 trees; tolerance 0.02; rows matched by id" in basis


def test_reports_for_machines_are_written(files: Path) -> None:
    options = ["--json", "--markdown", "verdict.md", "--junit", "reports/gate.xml"]
    code, out, _ = run("gate", "old.parquet", "shuffled.parquet", *QUICK, *options)
    found = json.loads(out)
    assert code == 1
    assert found["outcome"] == "fail"
    assert found["matched_by"] == "id"
    assert len(found["checks"]) == 2
    assert found["sentence"] in Path("verdict.md").read_text()
    assert 'failures="1"' in Path("reports/gate.xml").read_text()


def test_a_floor_is_made_and_used(files: Path) -> None:
    code, out, _ = run("calibrate", "seed0.npy", "seed1.npy", "seed2.npy", *QUICK)
    assert code == 0
    assert out.startswith("floor 0.")
    assert Path("floor.json").is_file()
    np.save("near.npy", OLD)
    code, out, _ = run("gate", "seed0.npy", "near.npy", "--floor", "floor.json")
    assert code == 0
    assert "lowest of 2 comparisons: at most 33.3% of unchanged sets" in out
    code, out, _ = run("calibrate", "seed0.npy", "seed1.npy", *QUICK, "--json")
    assert code == 0
    assert len(json.loads(out)["scores"]) == 1


def test_check_prints_one_table_and_how_files_join(files: Path) -> None:
    code, out, _ = run("check", "old.parquet", "int8.parquet")
    assert code == 0
    assert "200 items in common, matched by id; none is left over." in out
    code, out, _ = run("check", "old.parquet", "int8.parquet", "--json")
    found = json.loads(out)
    assert found["join"] == {"matched_by": "id", "common": 200, "left_over": [0, 0]}
    assert [each["dtype"] for each in found["files"]] == ["float32", "float32"]


def test_check_refuses_what_a_comparison_would(files: Path) -> None:
    bad = OLD.copy()
    bad[3, 1], bad[4] = np.nan, 0
    np.save("bad.npy", bad)
    code, out, err = run("check", "bad.npy")
    assert code == 2
    assert "zero vectors" in out
    assert err == (
        "error: bad.npy: 1 row has NaN or infinity: remove or repair them (and 1 more)\n"
    )
    write_embeddings("other.parquet", Embeddings(OLD, np.char.add(IDS, "x")))
    code, _, err = run("check", "old.parquet", "other.parquet")
    assert code == 2
    assert "0 items in common" in err
    write_embeddings("part.parquet", Embeddings(OLD[:150], IDS[:150]))
    code, _, err = run("check", "old.parquet", "part.parquet")
    assert code == 2
    assert "150 items in common, matched by id; 50 rows have no partner." in err
    assert "compare with --join inner" in err
    np.save("two.npy", OLD[:2])
    np.save("same.npy", np.ones((60, 4)))
    for name, words in (("two", "2 rows in all: a tree needs at least 3"), ("same", "same point")):
        code, _, err = run("check", f"{name}.npy")
        assert code == 2
        assert words in err
        assert run("compare", f"{name}.npy", f"{name}.npy")[0] == 2


def test_check_says_how_numbers_are_stored(files: Path) -> None:
    dtypes = ["int8", "uint8", "int64", "bool", "float16", "float32"]
    for dtype in dtypes:
        np.save(f"{dtype}.npy", (OLD > 0).astype(dtype))
    found = json.loads(run("check", *(f"{dtype}.npy" for dtype in dtypes), "--json")[1])
    assert [each["dtype"] for each in found["files"]] == dtypes


def test_check_counts_the_bad_rows_of_a_folder(files: Path) -> None:
    Path("parts").mkdir()
    bad = OLD.copy()
    bad[[3, 150]] = np.nan
    for part in range(2):
        rows = slice(100 * part, 100 * part + 100)
        write_embeddings(f"parts/{part}.parquet", Embeddings(bad[rows], IDS[rows]))
    code, out, err = run("check", "parts")
    assert code == 2
    assert "rows with NaN or infinity" in out
    assert err == "error: parts: 2 rows have NaN or infinity: remove or repair them\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["old.npy", "few.npy"], "200 rows and few.npy has 40"),
        (["few.npy", "few.npy"], "needs at least 50"),
        (["old.parquet", "other.parquet"], "missing from other.parquet"),
        (["old.npy", "old.npy", "--tolerance", "2"], "between 0 and 1"),
        (["old.npy", "old.npy", "--floor", "floor.json"], "floor.json: there is no such file"),
        (["old.npy", "old.npy", "--floor", "old.npy"], "is not a floor"),
        (["old.npy", "old.npy", "--junit", "."], "it is a folder"),
        (["old.npy", "few.npy", "--junit", "few.npy"], "it is an input, which would be lost"),
        (["old.npy", "few.npy", "--junit", "x", "--markdown", "x"], "two outputs have this name"),
        (["old.npy", "bad.npy"], "NaN or infinity"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(files: Path, arguments: list[str], words: str) -> None:
    np.save("few.npy", OLD[:40])
    np.save("bad.npy", np.full_like(OLD, np.nan))
    write_embeddings("other.parquet", Embeddings(OLD, np.char.add(IDS, "x")))
    code, out, err = run("gate", *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_floor_of_other_settings_is_refused(files: Path) -> None:
    run("calibrate", "seed0.npy", "seed1.npy", *QUICK)
    code, _, err = run("gate", "old.npy", "old.npy", "--floor", "floor.json", "--trees", "40")
    assert code == 2
    assert "the floor was made with trees 20" in err
    assert run("gate", "old.npy", "old.npy", "--floor", "floor.json", "--trees", "20")[0] == 0


def test_files_matched_by_position_in_part_warn(files: Path) -> None:
    _, _, err = run("gate", "old.npy", "old.parquet", *QUICK)
    assert err.startswith("warning: old.npy has no ids")


def test_the_gate_ends_with_what_moved(files: Path) -> None:
    _, out, _ = run("gate", "old.parquet", "shuffled.parquet", *QUICK)
    assert "What moved: " in out
    assert " moved by " in out
    assert "was near item-" in out
    _, out, _ = run("gate", "old.parquet", "shuffled.parquet", *QUICK, "--json")
    found = json.loads(out)["movements"]
    assert found["moved"] > 30
    assert found["movers"][0]["item"].startswith("item-")
    run("gate", "old.parquet", "shuffled.parquet", *QUICK, "--markdown", "v.md", "--junit", "v.xml")
    assert "- What moved: " in Path("v.md").read_text()
    assert "What moved: " in Path("v.xml").read_text()


def test_compare_lists_movers(files: Path) -> None:
    write_embeddings("named.parquet", Embeddings(OLD, IDS, np.repeat(np.arange(8), 25)))
    options = [*QUICK, "--movers", "3", "--movers-table", "moved.csv"]
    code, out, _ = run("compare", "named.parquet", "shuffled.parquet", *options)
    assert code == 0
    assert out.count(" moved by ") == 3
    assert "by class" in out
    rows = list(csv.DictReader(Path("moved.csv").read_text().splitlines()))
    assert len(rows) == 200
    assert {row["item"] for row in rows} == set(IDS)
    assert all(set(json.loads(row["old_neighbors"])) < set(IDS) for row in rows)
    motions = [float(row["motion"]) for row in rows]
    assert motions == sorted(motions, reverse=True)
    assert rows[0]["label"] == str(int(rows[0]["item"].removeprefix("item-")) // 25)
    code, out, _ = run(
        "compare", "named.parquet", "shuffled.parquet", *QUICK, "--movers", "2", "--json"
    )
    (pair,) = json.loads(out)["pairs"]
    assert len(pair["movements"]["movers"]) == 2
    assert len(pair["movements"]["classes"]) == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["old.npy", "old.npy", "old.npy", "--movers", "2"], "--movers compares two files"),
        (["old.npy", "old.npy", "old.npy", "--movers-table", "m.csv"], "--movers-table compares"),
        (["old.npy", "old.npy", "--trees", "0", "--movers", "2"], "needs forests"),
        (["old.npy", "old.npy", "--movers-table", "."], "it is a folder"),
    ],
)
def test_movers_that_cannot_be(files: Path, arguments: list[str], words: str) -> None:
    code, _, err = run("compare", *arguments)
    assert code == 2
    assert words in err

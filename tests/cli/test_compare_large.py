"""`sag-vicreg compare` on folders, patterns and arrays that are not held in memory."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import open_table
from sag_vicreg.cli import app
from sag_vicreg.cli.large import bytes_of
from sag_vicreg.errors import InputError
from sag_vicreg.structure import compare, compare_clusters, compare_tables
from tables import as_table, names_of, two_sets, write_folder

N = 900
SMALL = ("--anchors", "60", "--leaves", "150", "--trees", "8")


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    a, b = two_sets(N)
    order = np.random.default_rng(1).permutation(N)
    return [
        str(write_folder(tmp_path / "old", a, names_of(N))),
        str(write_folder(tmp_path / "new", b[order], names_of(N)[order], files=2)),
    ]


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compare", *arguments], env={"COLUMNS": "120"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_verdict_comes_first_and_the_table_says_what_was_done(folders: list[str]) -> None:
    code, out, err = run(*folders, *SMALL, "--memory", "4GB")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].startswith("The tables ")
    assert "forest similarity 0." in lines[1]
    assert "n = 900, matched by id · 8 dimensions · geometry cosine" in lines[2]
    said = " ".join(out.split())
    assert "5 sets of 60 anchors, each with 8 trees of 150 leaves, distance size" in said
    assert "twice the anchors would move it by" in out


def test_json_holds_what_python_finds(folders: list[str]) -> None:
    code, out, _ = run(*folders, *SMALL, "--json", "--geometry", "spherical")
    assert code == 0
    found = json.loads(out)
    expected = compare_tables(
        *map(open_table, folders), geometry="spherical", anchors=60, leaves=150, trees=8
    ).to_dict()
    assert found.pop("files") == folders
    del found["seconds"], expected["seconds"]
    assert found == expected


def test_clusters_add_one_tree_of_all_rows(folders: list[str]) -> None:
    spherical = (*SMALL, "--geometry", "spherical", "--clusters")
    code, out, err = run(*folders, *spherical)
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "one tree of all 900 rows each, of 900 micro-clusters, distance size" in said
    assert "10 nearest of the anchors, shared" in said
    code, out, _ = run(*folders, *spherical, "--json")
    expected = compare_clusters(*map(open_table, folders)).to_dict()
    found = json.loads(out)["clusters"]
    assert (found["spearman"], found["n"]) == (expected["spearman"], N)
    assert "only in 'spherical' and 'euclidean'" in refused(*folders, *SMALL, "--clusters")


def test_small_folders_are_compared_as_files_are(folders: list[str], tmp_path: Path) -> None:
    code, out, _ = run(*folders, "--trees", "0", "--json")
    pair = json.loads(out)["pairs"][0]
    a, b = two_sets(N)
    assert pair["lca"]["spearman"] == pytest.approx(compare(a, b, trees=0).lca.spearman)
    assert json.loads(out)["matched_by"] == "id"
    assert code == 0
    code, again, _ = run(f"{folders[0]}/part-*.parquet", folders[1], "--trees", "0", "--json")
    assert json.loads(again)["pairs"][0]["lca"] == pair["lca"]


def test_other_commands_read_a_folder_as_one_set(folders: list[str]) -> None:
    done = CliRunner().invoke(app, ["check", *folders, "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert [each["rows"] for each in found["files"]] == [N, N]
    assert found["join"]["common"] == N


def refused(*arguments: str) -> str:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    return err


AUTO = ("--trees", "auto")


def test_faults_are_one_line(folders: list[str], tmp_path: Path) -> None:
    assert "--plot needs all rows in memory" in refused(*folders, *SMALL, "--plot", "x.png")
    assert "compare two at a time" in refused(*folders, folders[0], *SMALL)
    for size in ("much", "0", "nan", "9" * 400 + "GB", "99999999TB", "0.1B"):
        assert f"--memory is '{size[:40]}': give a size" in refused(*folders, "--memory", size)
    assert "--trees needs all rows in memory" in refused(*folders, "--anchors", "60", *AUTO)
    assert "is too small for trees of 150 leaves" in refused(*folders, *SMALL, "--memory", "1MB")
    assert "there are no .parquet or" in refused(f"{folders[0]}/*.arrow", folders[1])
    a, _ = two_sets(N)
    pq.write_table(as_table(a[:, :5], names_of(N)), Path(folders[1]) / "part-7.parquet")
    assert "part-7.parquet: its vectors have 5 dimensions" in refused(*folders)


def test_a_scheduler_that_cannot_be_reached_is_one_line(folders: list[str]) -> None:
    pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    address = "tcp://127.0.0.1:1"
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        message = refused(*folders, *SMALL, "--scheduler", address)
    assert f"--scheduler {address}: cannot be reached" in message


def test_one_table_without_ids_is_warned_of(folders: list[str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", two_sets(N)[0])
    code, _, err = run(folders[0], str(tmp_path / "x.npy"), *SMALL)
    assert code == 0
    assert err.startswith("warning: ")
    assert "x.npy has no ids, so rows are matched by position" in err


def test_sizes_are_read_as_people_write_them() -> None:
    assert [bytes_of(text) for text in ("2GB", "512 MB", "1.5GiB", "100", "3kb", "1T")] == [
        2_000_000_000,
        512_000_000,
        1_610_612_736,
        100,
        3_000,
        10**12,
    ]
    for text in ("", "GB", "-1GB", "0", "2 apples"):
        with pytest.raises(InputError, match="give a size"):
            bytes_of(text)

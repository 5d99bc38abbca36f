"""`sag-vicreg compare` as a user meets it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.cli import app
from sag_vicreg.structure import compare, compare_all

RNG = np.random.default_rng(0)
A = np.repeat(3 * RNG.normal(size=(5, 6)), 12, axis=0) + RNG.normal(size=(60, 6))
B = A @ RNG.normal(size=(6, 4)) + RNG.normal(size=(60, 4))
IDS = np.array([f"item-{row}" for row in range(60)])
FEW = ("--trees", "8")  # where it is not about the forest that is grown when nothing is said


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    np.save(tmp_path / "a.npy", A)
    write_embeddings(tmp_path / "b.parquet", Embeddings(B, IDS))
    np.savez(tmp_path / "c.npz", vectors=RNG.normal(size=(60, 3)))
    return [str(tmp_path / name) for name in ("a.npy", "b.parquet", "c.npz")]


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compare", *arguments], env={"COLUMNS": "120"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_table_holds_the_five_numbers_and_what_was_done(files: list[str]) -> None:
    code, out, _ = run(*files[:2])
    assert code == 0
    for value in compare(A, B.astype("f4"), trees=0).values():
        assert f"{value:.4f}" in out
    for word in ("Pearson", "Spearman", "Kendall", "D1 to P2", "D2 to P1", "n = 60", "cosine"):
        assert word in out


def test_a_name_is_printed_as_it_is(files: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "old[v2].npy"
    odd.write_bytes(Path(files[0]).read_bytes())
    assert "old[v2]" in run(str(odd), files[0], *FEW)[1]
    assert "old[v2]" in run(str(odd), *files[:2], *FEW)[1]


def test_json_is_all_that_is_printed(files: list[str]) -> None:
    options = ["--json", "--permutations", "19", "--half-samples", "2", "--context", *FEW]
    code, out, _ = run(*files[:2], *options, "--geometry", "spherical", "--lca", "path")
    assert code == 0
    (found,) = json.loads(out)["pairs"]
    expected = compare(
        *(A, B.astype("f4")),
        geometry="spherical",
        lca="path",
        permutations=19,
        half_samples=2,
        trees=8,
    )
    for key, value in expected.to_dict().items():
        if key != "seconds":
            assert found[key] == json.loads(json.dumps(value)), key
    assert 0 < found["neighborhood"]["cka"] <= 1
    assert -1 <= found["context"]["rsa"] <= 1


def test_two_files_and_many_have_one_schema(files: list[str]) -> None:
    two, many = (json.loads(run(*some, "--json", *FEW)[1]) for some in (files[:2], files))
    assert two.keys() == many.keys()
    assert two["pairs"][0].keys() == many["pairs"][0].keys()
    seconds = {"seconds": 0.0}
    assert many["pairs"][0] | seconds == two["pairs"][0] | seconds


def test_the_first_lines_are_the_verdict(files: list[str], tmp_path: Path) -> None:
    np.save(tmp_path / "same.npy", A)
    _, out, _ = run(files[0], str(tmp_path / "same.npy"))
    names, verdict, facts = out.splitlines()[:3]
    assert names == "a.npy  and  same.npy"
    assert verdict.startswith("The sets agree closely: forest similarity 1.00 (1.00 to 1.00)")
    assert verdict.endswith("100% of nearest neighbours shared")
    assert "6 dimensions" in facts
    np.save(tmp_path / "few.npy", A[:49])
    _, out, _ = run(str(tmp_path / "few.npy"), str(tmp_path / "few.npy"))
    assert "No forest similarity: 49 rows, and a forest needs at least 50" in out


def test_a_warning_stands_where_single_trees_are_unstable(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    apart = np.repeat(20.0 * rng.normal(size=(4, 6)), 20, axis=0) + rng.normal(size=(80, 6))
    loose = rng.normal(size=(80, 6))
    for name, x in (("steady", apart), ("loose", loose)):
        np.save(tmp_path / f"{name}.npy", x)
        np.save(tmp_path / f"{name}2.npy", x + 0.3 * rng.normal(size=x.shape))
        files = [str(tmp_path / f"{name}{end}.npy") for end in ("", "2")]
        _, out, _ = run(*files, "--half-samples", "6", "--trees", "0")
        spread = [float(x) for x in re.findall(r"±(\d\.\d+)", out)]
        assert ("a single tree's scores are unstable here" in out) == (max(spread) > 0.05)
        assert (max(spread) > 0.05) == (name == "loose"), spread


def test_of_many_sets_the_warning_is_of_the_score_that_is_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    groups = 2 * rng.normal(size=(4, 6))[rng.integers(4, size=80)]
    loose = groups + rng.normal(size=groups.shape)
    sets = [loose + noise * rng.normal(size=loose.shape) for noise in (0.0, 0.1, 0.2)]
    files = [str(tmp_path / f"{k}.npy") for k in range(3)]
    for path, x in zip(files, sets, strict=True):
        np.save(path, x)
    found = compare_all(sets, trees=0, half_samples=6)
    unstable = {name for pair in found.pairs.values() for name in pair.unstable}
    assert "spearman" in unstable
    assert not unstable & {"d1_to_p2", "d2_to_p1"}
    for score in ("spearman", "d1_to_p2"):
        _, out, _ = run(*files, "--half-samples", "6", "--trees", "0", "--score", score)
        assert ("a single tree's scores are unstable here" in out) == (score in unstable)


def test_everything_optional_is_in_the_table(files: list[str]) -> None:
    _, out, _ = run(*files[:2], "--permutations", "19", "--half-samples", "2", "--context")
    for word in ("p-value", "half-samples", "Linear CKA", "RSA", "Entanglement", "Fowlkes-Mallows"):
        assert word in out


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plots_of_two(files: list[str], tmp_path: Path, suffix: str) -> None:
    plot = tmp_path / f"out{suffix}"
    code, _, err = run(*files[:2], *FEW, "--plot", str(plot))
    assert code == 0
    assert plot.stat().st_size > 5_000
    assert f"drew {plot}" in err


def test_plot_of_a_large_set_shows_the_top_merges(tmp_path: Path) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", RNG.normal(size=(600, 8)))
    plot = tmp_path / "out.svg"
    both = [str(tmp_path / f"{name}.npy") for name in ("a", "b")]
    code, *_ = run(*both, *FEW, "--lca", "height", "--plot", str(plot))
    assert code == 0
    assert "the top 60 of 599 merges" in plot.read_text()


def test_many_files_give_a_matrix_and_a_heat_map(files: list[str], tmp_path: Path) -> None:
    plot = tmp_path / "out.png"
    code, out, _ = run(*files, *FEW, "--score", "d1_to_p2", "--plot", str(plot))
    assert code == 0
    assert "every two of 3 sets" in out
    assert plot.stat().st_size > 5_000
    options = ["--permutations", "9", "--half-samples", "2", *FEW]
    _, out, _ = run(*files, *options, "--score", "spearman")
    assert out.count("p = ") == out.count(" ±") == 6
    assert "9 permutations" in out
    assert "2 half-samples" in out
    _, out, _ = run(*files, *options)
    assert out.count("p = ") == 6
    assert "corrected forest similarity, Spearman, 8 trees" in out
    _, out, _ = run(*files, "--json", "--trees", "0")
    assert json.loads(out)["matrices"]["forest"][0] == [None, None, None]
    matrix = json.loads(out)["matrices"]["kendall"]
    assert np.array(matrix).shape == (3, 3)
    assert matrix[0][0] == 1.0


def test_rows_are_matched_by_id(files: list[str], tmp_path: Path) -> None:
    order = RNG.permutation(60)
    write_embeddings(tmp_path / "x.parquet", Embeddings(A, IDS))
    write_embeddings(tmp_path / "y.parquet", Embeddings(B[order], IDS[order]))
    _, by_id, _ = run(str(tmp_path / "x.parquet"), str(tmp_path / "y.parquet"), "--json", *FEW)
    _, by_position, _ = run(str(tmp_path / "x.parquet"), files[1], "--json", *FEW)
    both = [json.loads(each)["pairs"][0]["lca"] for each in (by_id, by_position)]
    assert both[0] == both[1]
    assert json.loads(by_id)["matched_by"] == "id"
    _, table, err = run(str(tmp_path / "x.parquet"), files[0], *FEW)
    assert "matched by position" in table
    assert f"warning: {files[0]} has no ids" in err
    code, _, err = run(str(tmp_path / "x.parquet"), str(tmp_path / "y.parquet"), files[0])
    assert code == 2
    assert "another order" in err


def test_columns_that_are_no_dimensions(tmp_path: Path) -> None:
    """What gives a wrong score in silence if it is taken for a dimension."""
    order = RNG.permutation(60)
    old, new = str(tmp_path / "old.csv"), str(tmp_path / "new.parquet")
    lines = [f"{row},{0.1 * row}," + ",".join(map(str, A[row])) for row in range(60)]
    Path(old).write_text("\n".join(["doc_id,price,v1,v2,v3,v4,v5,v6", *lines]))
    columns = {"doc_id": order, "old": (3 * B[order]).tolist(), "new": B[order].tolist()}
    pq.write_table(pa.table(columns), new)
    code, _, err = run(old, old)
    assert code == 2
    assert "'doc_id', 'price' (not numbered as v1 to v6 are)" in err
    assert "--vector-columns v1:v6" in err
    each = ["--vector-columns", "v1:v6", "--vector-columns", "new"]
    code, out, _ = run(old, new, *each, "--id-column", "doc_id", "--json", *FEW)
    assert code == 0
    found, expected = json.loads(out), compare(A, B, trees=0).to_dict()
    assert found["matched_by"] == "id"
    assert found["pairs"][0]["lca"] == expected["lca"]
    code, _, err = run(old, new, old, *each)
    assert code == 2
    assert "2 --vector-columns for 3 inputs: give it once for all, or once for each" in err


def test_files_may_call_their_ids_differently(tmp_path: Path) -> None:
    def write(name: str, column: str, rows: Sequence[int], vectors: np.ndarray) -> str:
        lines = [f"k{row}," + ",".join(map(str, vectors[row])) for row in rows]
        head = ",".join([column, *(f"v{place}" for place in range(vectors.shape[1]))])
        (tmp_path / name).write_text("\n".join([head, *lines]))
        return str(tmp_path / name)

    old = write("old.csv", "doc_id", range(60), A)
    new = write("new.csv", "key", RNG.permutation(60).tolist(), B)
    plain = write("plain.csv", "id", range(60), A)
    expected = compare(A, B, trees=0).to_dict()["lca"]
    for first, said in ((old, "doc_id"), (plain, "")):
        options = ("--id-column", said, "--id-column", "key", "--trees", "0", "--json")
        code, out, _ = run(first, new, *options)
        assert code == 0
        found = json.loads(out)
        assert found["matched_by"] == "id"
        assert found["pairs"][0]["lca"] == expected
    code, _, err = run(old, new, "--id-column", "doc_id")
    assert code == 2
    assert "there is no 'doc_id' among 'key', 'v0'" in err
    assert "give the option once per file" in err


def test_mistakes_are_one_line_and_exit_code_2(files: list[str], tmp_path: Path) -> None:
    write_embeddings(tmp_path / "x.parquet", Embeddings(A[1:], IDS[1:]))
    np.save(tmp_path / "short.npy", A[:50])
    np.save(tmp_path / "nan.npy", np.where(np.arange(60)[:, None] == 3, np.nan, A))
    for arguments, message in (
        ([files[0]], "at least two"),
        ([files[0], str(tmp_path / "missing.npy")], "no such file"),
        ([files[0], str(tmp_path / "short.npy")], "60 rows"),
        ([files[0], str(tmp_path / "nan.npy")], "row 3 holds NaN"),
        ([files[1], str(tmp_path / "x.parquet")], "id 'item-0' is missing"),
        ([*files[:2], "--geometry", "hyperbolic"], "Valid: cosine, spherical, euclidean"),
        ([*files[:2], "--plot", "out.bmp"], "must end in .png"),
        ([*files, "--context"], "two files"),
        ([*files, "--score", "tau"], "Valid: forest, pearson"),
        ([*files[:2], "--score", "tau"], "Valid: forest, pearson"),
        ([*files[:2], "--trees", "some"], "--trees is 'some': give a number such as 100"),
        ([*files[:2], "--trees", "6"], "need a multiple of 4, such as 8"),
        ([*files[:2], "--forest-lca", "path"], "Valid: size, level, order, height"),
    ):
        code, out, err = run(*arguments)
        assert code == 2, arguments
        assert message in err
        assert err.count("\n") == 1
        assert out == ""


def test_a_distance_matrix_is_warned_about_on_stderr(files: list[str], tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.linalg.norm(A[:, None] - A[None], axis=2))
    code, out, err = run(files[0], str(tmp_path / "d.npy"), "--json", *FEW)
    assert code == 0
    assert err.startswith("warning: d.npy is square")
    json.loads(out)

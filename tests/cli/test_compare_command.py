"""`sag-vicreg compare` as a user meets it."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.cli import app
from sag_vicreg.structure import compare

RNG = np.random.default_rng(0)
A = np.repeat(3 * RNG.normal(size=(5, 6)), 12, axis=0) + RNG.normal(size=(60, 6))
B = A @ RNG.normal(size=(6, 4)) + RNG.normal(size=(60, 4))
IDS = np.array([f"item-{row}" for row in range(60)])


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
    for value in compare(A, B.astype("f4")).values():
        assert f"{value:.4f}" in out
    for word in ("Pearson", "Spearman", "Kendall", "D1 to P2", "D2 to P1", "n = 60", "cosine"):
        assert word in out


def test_a_name_is_printed_as_it_is(files: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "old[v2].npy"
    odd.write_bytes(Path(files[0]).read_bytes())
    assert "old[v2]" in run(str(odd), files[0])[1]
    assert "old[v2]" in run(str(odd), *files[:2])[1]


def test_json_is_all_that_is_printed(files: list[str]) -> None:
    options = ["--json", "--permutations", "19", "--half-samples", "2", "--context"]
    code, out, _ = run(*files[:2], *options, "--geometry", "spherical", "--lca", "path")
    assert code == 0
    found = json.loads(out)
    expected = compare(
        A, B.astype("f4"), geometry="spherical", lca="path", permutations=19, half_samples=2
    )
    for key, value in expected.to_dict().items():
        if key != "seconds":
            assert found[key] == json.loads(json.dumps(value)), key
    assert 0 < found["context"]["cka"] <= 1


def test_everything_optional_is_in_the_table(files: list[str]) -> None:
    _, out, _ = run(*files[:2], "--permutations", "19", "--half-samples", "2", "--context")
    for word in ("p-value", "half-samples", "linear CKA", "RSA", "entanglement", "Fowlkes-Mallows"):
        assert word in out


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plots_of_two(files: list[str], tmp_path: Path, suffix: str) -> None:
    plot = tmp_path / f"out{suffix}"
    code, _, err = run(*files[:2], "--plot", str(plot))
    assert code == 0
    assert plot.stat().st_size > 5_000
    assert f"drew {plot}" in err


def test_plot_of_a_large_set_shows_the_top_merges(tmp_path: Path) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", RNG.normal(size=(600, 8)))
    plot = tmp_path / "out.svg"
    code, *_ = run(
        str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), "--lca", "height", "--plot", str(plot)
    )
    assert code == 0
    assert "the top 60 of 599 merges" in plot.read_text()


def test_many_files_give_a_matrix_and_a_heat_map(files: list[str], tmp_path: Path) -> None:
    plot = tmp_path / "out.png"
    code, out, _ = run(*files, "--score", "d1_to_p2", "--plot", str(plot))
    assert code == 0
    assert "every two of 3 sets" in out
    assert plot.stat().st_size > 5_000
    _, out, _ = run(*files, "--permutations", "9", "--half-samples", "2")
    assert out.count("p = ") == out.count(" ±") == 6
    assert "9 permutations" in out
    assert "2 half-samples" in out
    _, out, _ = run(*files, "--json")
    matrix = json.loads(out)["matrices"]["kendall"]
    assert np.array(matrix).shape == (3, 3)
    assert matrix[0][0] == 1.0


def test_rows_are_matched_by_id(files: list[str], tmp_path: Path) -> None:
    order = RNG.permutation(60)
    write_embeddings(tmp_path / "x.parquet", Embeddings(A, IDS))
    write_embeddings(tmp_path / "y.parquet", Embeddings(B[order], IDS[order]))
    _, by_id, _ = run(str(tmp_path / "x.parquet"), str(tmp_path / "y.parquet"), "--json")
    _, by_position, _ = run(str(tmp_path / "x.parquet"), files[1], "--json")
    assert json.loads(by_id)["lca"] == json.loads(by_position)["lca"]
    assert json.loads(by_id)["matched_by"] == "id"
    _, table, err = run(str(tmp_path / "x.parquet"), files[0])
    assert "matched by position" in table
    assert f"warning: {files[0]} has no ids" in err
    code, _, err = run(str(tmp_path / "x.parquet"), str(tmp_path / "y.parquet"), files[0])
    assert code == 2
    assert "another order" in err


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
        ([*files, "--score", "tau"], "Valid: pearson"),
        ([*files[:2], "--score", "tau"], "Valid: pearson"),
    ):
        code, out, err = run(*arguments)
        assert code == 2, arguments
        assert message in err
        assert err.count("\n") == 1
        assert out == ""


def test_a_distance_matrix_is_warned_about_on_stderr(files: list[str], tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.linalg.norm(A[:, None] - A[None], axis=2))
    code, out, err = run(files[0], str(tmp_path / "d.npy"), "--json")
    assert code == 0
    assert err.startswith("warning: d.npy is square")
    json.loads(out)

"""Ids and labels that a terminal, a markup or a parser would obey are shown and never obeyed."""

import csv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.cli import app

ROWS = 60
IDS = np.array([f"\x1b]0;title\x07<script>[/b]:warning:\ufffe{row}" for row in range(ROWS)])
LABELS = np.array([f"[/red]\x1b[2J<img>{row % 3}" for row in range(ROWS)])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, ROWS, 4))
    write_embeddings("a.parquet", Embeddings(a, IDS, LABELS))
    write_embeddings("b.parquet", Embeddings(b, IDS, LABELS))
    return "a.parquet", "b.parquet"


def run(*words: str, columns: int = 200) -> str:
    done = CliRunner().invoke(app, words, env={"COLUMNS": str(columns)})
    assert done.exit_code in (0, 1, 3), done.stderr or done.exception
    assert not set(done.output) & {"\x1b", "\x07", "\ufffe"}
    return done.output


@pytest.mark.parametrize("columns", [200, 40])
def test_in_a_terminal(files: tuple[str, str], columns: int) -> None:
    out = run("compare", *files, "--trees", "8", "--movers", "3", columns=columns)
    assert r"[/red]\x1b[2J" in out, "a class"
    words = "".join(out.split())
    assert r"\x1b]0;title\x07<script>[/b]:warning:\ufffe" in words, "an id"
    run("evaluate", files[0], columns=columns)
    run("check", *files, columns=columns)


def test_in_pull_requests_test_reports_and_tables(files: tuple[str, str]) -> None:
    words = ("--markdown", "g.md", "--junit", "g.xml", "--trees", "8")
    assert "<script>" in run("gate", *files, *words)
    markdown = Path("g.md").read_text()
    assert not set(markdown) & {"\x1b", "\x07", "<"}
    (case,) = ElementTree.parse("g.xml").getroot()
    assert r"\x1b]0;title\x07<script>" in "".join(case.itertext())
    run("compare", *files, "--trees", "8", "--movers-table", "m.csv")
    with Path("m.csv").open(newline="", encoding="utf-8") as file:
        assert {row["item"] for row in csv.DictReader(file)} == set(IDS), "a table is data"

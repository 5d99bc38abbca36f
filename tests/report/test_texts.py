"""Texts on the page in place of pictures, and branches in place of arbitrary rows."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.cli import app
from sag_vicreg.report import build_report
from sag_vicreg.structure.damage import shuffle_rows

pytestmark = pytest.mark.usefixtures("quick_maps")

RNG = np.random.default_rng(0)
OLD = 4 * np.eye(5, 8)[np.repeat(np.arange(5), 30)] + RNG.normal(size=(150, 8))
NEW = shuffle_rows(OLD, 0.1, seed=1)
ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
TEXTS = [f"topic {row // 30}, text {row} {ATTACK} \x1b[31m" for row in range(150)]


def page(folder: Path, *vectors: np.ndarray) -> Path:
    """Write files with texts, and make their page by the command."""
    files = []
    for place, each in enumerate(vectors):
        files.append(str(folder / f"{place}.parquet"))
        pq.write_table(pa.table({"text": TEXTS, "vector": each.tolist()}), files[-1])
    out = folder / "page.html"
    options = ["--trees", "20", "--half-samples", "0", "--out", str(out)]
    done = CliRunner().invoke(app, ["report", *files, "--text-column", "text", *options])
    assert done.exit_code == 0, done.output
    return out


def data_of(path: Path) -> Any:
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.S)[1])  # type: ignore[index]


def test_texts_are_everywhere_and_run_nowhere(tmp_path: Path, browser: Browser) -> None:
    path = page(tmp_path, OLD, NEW)
    content = path.read_text()
    assert "texts changed their place" in content
    assert "--text-column=text" in content
    tab = browser.new_page()
    tab.set_default_timeout(0)  # as long as it takes on this machine
    complaints: list[str] = []
    tab.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready=yes]")
    mover = data_of(path)["moved"]["movers"][0]
    assert mover["text"].startswith("topic ")
    first = tab.inner_text("#moved-rows tr:first-child .moved-name")
    assert first.startswith(mover["text"][:100])
    near = tab.inner_text("#moved-rows tr:first-child td:nth-child(4) .chip:first-child")
    assert near.startswith(mover["old"][0]["text"][:30])
    # The first row is chosen: its own text, and those of its eight nearest under both models.
    tiles = tab.eval_on_selector_all(
        "#neighbours .text-tile", "tiles => tiles.map((tile) => tile.textContent)"
    )
    assert len(tiles) == 1 + 2 * 8
    assert tiles[0].startswith(f"topic 0, text 0 {ATTACK[:40]}")
    tab.focus("#map-left")
    tab.keyboard.press("ArrowRight")
    assert "topic 0, text 0" in tab.inner_text("#tip .own-text")
    assert tab.query_selector("img[src=x]") is None
    assert complaints == []
    tab.close()


def test_a_terminal_never_sees_the_controls_of_a_text(tmp_path: Path) -> None:
    page(tmp_path, OLD, NEW)
    files = [str(tmp_path / f"{place}.parquet") for place in (0, 1)]
    options = ["--trees", "20", "--text-column", "text"]
    done = CliRunner().invoke(app, ["gate", *files, *options])
    assert "“topic " in done.stdout
    assert "\x1b" not in done.stdout
    told = CliRunner().invoke(app, ["compare", *files, *options, "--movers", "3", "--json"])
    movers = json.loads(told.stdout)["pairs"][0]["movements"]["movers"]
    assert all(mover["text"].startswith(f"topic {mover['item'] // 30}") for mover in movers)


def test_one_unlabelled_set_shows_branches_with_counts_and_examples(tmp_path: Path) -> None:
    trees = data_of(page(tmp_path, OLD))["trees"]
    assert trees["nouns"] == ["branch", "branches"]
    assert len(trees["leaves"]) == 5
    for leaf, examples in zip(trees["leaves"], trees["examples"], strict=True):
        size, topic = re.fullmatch(r"(\d+) like “topic (\d), text .*”", leaf).groups()  # type: ignore[union-attr]
        assert abs(int(size) - 30) <= 6
        assert len(examples) == 6
        assert {example // 30 for example in examples} == {int(topic)}


def test_without_structure_single_rows_are_left(tmp_path: Path) -> None:
    noise = RNG.normal(size=(150, 8))
    write_embeddings(tmp_path / "noise.parquet", Embeddings(noise))
    path = build_report([tmp_path / "noise.parquet"], tmp_path / "page.html", trees=20)
    assert len(data_of(path)["trees"]["leaves"]) == 48
    none = build_report([tmp_path / "noise.parquet"], tmp_path / "page.html", trees=0)
    assert len(data_of(none)["trees"]["leaves"]) == 48

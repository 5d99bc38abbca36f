"""The section "What moved": its flow, its names, its table in a browser."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.report import build_report
from sag_vicreg.report.flow import WIDTH, Label, draw_flow
from sag_vicreg.structure.damage import shuffle_rows

pytestmark = pytest.mark.usefixtures("quick_maps")

RNG = np.random.default_rng(0)
LABELS = np.repeat([f"class <{k}>" for k in range(5)], 30)
OLD = 4 * np.eye(5, 8)[np.repeat(np.arange(5), 30)] + RNG.normal(size=(150, 8))
NEW = shuffle_rows(OLD, 0.1, seed=1)
SIDE = [Label(name, "") for name in ("one", "other", "rest")]
IDS = np.array([f"id-{row}" for row in range(150)])


def page(
    folder: Path, labels: np.ndarray | None, new: np.ndarray = NEW, hierarchy: str | None = None
) -> Path:
    write_embeddings(folder / "old.parquet", Embeddings(OLD, IDS, labels))
    write_embeddings(folder / "new.parquet", Embeddings(new, IDS, labels))
    files = [folder / "old.parquet", folder / "new.parquet"]
    out = folder / "page.html"
    return build_report(files, out, trees=20, half_samples=0, hierarchy=hierarchy)


def test_every_item_flows_from_one_bar_to_another() -> None:
    counts = np.array([[40, 0, 2], [10, 30, 0], [0, 5, 13]])
    flow = draw_flow(counts, SIDE, SIDE)
    assert [bar.place for bar in flow.old] == [0, 1, 2]
    assert [bar.place for bar in flow.new] == [0, 1, 2]
    assert sum(ribbon.count for ribbon in flow.ribbons) == 100
    for bars in (flow.old, flow.new):
        ends = [(bar.top, bar.top + bar.height) for bar in bars]
        assert all(high < low for (_, high), (low, _) in itertools.pairwise(ends))
        assert ends[-1][1] == pytest.approx(flow.height)
    numbers = [float(n) for r in flow.ribbons for n in re.findall(r"[\d.]+", r.path)]
    assert max(numbers) <= max(flow.height, WIDTH) + 0.1


def test_new_branches_stand_beside_the_old_ones_they_are_made_of() -> None:
    flow = draw_flow(np.array([[0, 50, 0], [50, 0, 0], [0, 0, 0]]), SIDE, SIDE)
    assert [bar.place for bar in flow.new] == [1, 0]
    assert [bar.color for bar in flow.new] == [bar.color for bar in flow.old]


def test_twelve_branches_have_twelve_colours() -> None:
    """The most a flow shows; the palette has eight, and its black is for light pages only."""
    side = [Label(str(place), "") for place in range(13)]
    flow = draw_flow(np.diag([10] * 12 + [0]), side, side)
    colors = [bar.color for bar in flow.old]
    assert len(set(colors)) == 12
    assert "#000000" not in colors
    assert [bar.color for bar in flow.new] == colors


def test_the_section_says_what_moved_and_escapes_names(tmp_path: Path) -> None:
    text = page(tmp_path, LABELS).read_text()
    section = text[text.index('<section id="moved"') : text.index('<section id="trees"')]
    assert re.search(r"\d+ of 150 rows changed their place", section)
    assert "class &lt;0&gt;" in section
    assert "class <0>" not in section
    assert 'class="fate kept"' in section
    assert section.count('class="ribbon"') >= 5
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    movers = data["moved"]["movers"]
    changed = set(IDS[np.abs(NEW - OLD).sum(axis=1) > 0])
    assert {mover["name"] for mover in movers[:8]} <= changed
    assert len(movers[0]["old"]) == len(movers[0]["new"]) == 6


def test_branches_of_several_classes_are_named_by_the_group_that_fills_them(tmp_path: Path) -> None:
    # Each cluster holds three classes: of one group, or of groups that nothing unites.
    labels = np.array([f"{k}{part}" for k in "abcde" for _ in range(10) for part in "xyz"])
    groups = {"a": "garden", "b": "garden", "c": "sky", "d": "workshop"}
    rows = [f"{name},{groups.get(name[0], name)}/{name}" for name in sorted(set(labels))]
    (tmp_path / "tree.csv").write_text("\n".join(["class,path", *rows]))
    text = page(tmp_path, labels, hierarchy=str(tmp_path / "tree.csv")).read_text()
    names = set(re.findall(r'class="flow-name"><span>([^<]*)<', text))
    assert {"garden", "sky", "workshop"} <= {name.strip() for name in names}
    assert any(re.match(r"\s*e[xyz] \d+%, e[xyz] \d+%", name) for name in names)


def test_without_labels_branches_are_named_by_their_centre(tmp_path: Path) -> None:
    text = page(tmp_path, None).read_text()
    assert re.search(r'class="flow-name"><span>like id-\d+', text)
    assert "Classes that moved most" not in text
    # The trees, too, are of branches with their counts, not of single rows.
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert all(re.fullmatch(r"\d+ like id-\d+", leaf) for leaf in data["trees"]["leaves"])
    assert data["trees"]["nouns"] == ["branch", "branches"]
    assert "trees are of branches that recur" in text


def test_nothing_moved_has_no_table_of_movers(tmp_path: Path) -> None:
    text = page(tmp_path, LABELS, 2 * OLD).read_text()
    assert "0 of 150 rows changed their place" in text
    assert 'id="moved-rows"' not in text


def test_a_head_of_the_table_sorts_it(tmp_path: Path, browser: Browser) -> None:
    tab = browser.new_page()
    tab.set_default_timeout(0)  # as long as it takes on this machine
    tab.goto(page(tmp_path, LABELS).as_uri())
    tab.wait_for_selector("html[data-ready]")
    motions = "rows => rows.map((row) => Number(row.children[1].textContent))"
    down = tab.eval_on_selector_all("#moved-rows tr", motions)
    assert down == sorted(down, reverse=True)
    assert len(down) > 5
    tab.click("#moved [data-sort=motion]")
    up = tab.eval_on_selector_all("#moved-rows tr", motions)
    assert up == sorted(down)
    tab.close()

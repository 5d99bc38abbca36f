"""The demo's page in a real browser: it opens silently, answers hover, click and keys, and fits."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from made_runs import TREE
from pages_in_browser import MAP_TYPE, NODE, POINT, SIZE, click, hover, open_page, opened, page_data
from sag_vicreg.report import build_report, maps

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def demo_page(four_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maps, "project", lambda v, seed: v[:, :2].astype(np.float32))  # not UMAP's
        return build_report([four_runs], out, trees=8, half_samples=2)


@pytest.fixture(scope="module")
def loaded(browser: Browser, demo_page: Path) -> Iterator[tuple[Page, list[str]]]:
    """The demo's page, loaded once: that takes longer than most that is done with it."""
    page, complaints = open_page(browser, demo_page)
    yield page, complaints
    page.context.close()


@pytest.fixture
def page(loaded: tuple[Page, list[str]]) -> Iterator[Page]:
    """The demo's page, for tests that choose neither models nor a level."""
    page, complaints = loaded
    page.set_viewport_size(SIZE)
    page.emulate_media(color_scheme="light")
    if "Click a branch" not in page.locator("#branch-note").inner_text():
        page.locator("#tree-plot").press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")
    yield page
    assert complaints == []


def test_hovering_a_point_rings_it_in_both_maps_and_shows_its_picture(page: Page) -> None:
    labels = np.repeat(TREE.classes, 6)
    assert page.evaluate(MAP_TYPE) == "scatter"
    hover(page, POINT, ["map-left", 17])
    shown = page.locator("#tip small").last.inner_text()
    row = int(shown.removeprefix("test/"))  # the nearest may lie on top of the one aimed at
    assert page.locator("#tip strong").inner_text() == labels[row]
    assert page.locator("#tip .tile").evaluate("e => e.style.backgroundImage").startswith("url")
    for side in ("left", "right"):
        ring = page.locator(f"#ring-{side}").bounding_box()
        assert ring is not None
        centre = (ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
        assert centre == pytest.approx(page.evaluate(POINT, [f"map-{side}", row]), abs=1)
    page.mouse.down()
    page.mouse.up()
    assert page.locator(".neighbour-row.query h3").inner_text().split("\n")[0] == labels[row]
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_neighbours_are_the_nearest_by_cosine_under_each_model(page: Page, four_runs: Path) -> None:
    from sag_vicreg.artifacts import read_embeddings

    page.select_option("#query-class", label=TREE.classes[7])
    rows = page.locator(".neighbour-row:not(.query)")
    assert rows.count() == 4
    assert "VICReg, first half" in rows.nth(0).inner_text()
    stored = read_embeddings(four_runs / "vicreg-first" / "embeddings" / "shapes-test.parquet")
    unit = stored.vectors / np.linalg.norm(stored.vectors, axis=1, keepdims=True)
    assert stored.labels is not None
    cosine = unit @ unit[42]
    cosine[42] = -np.inf
    nearest = np.argsort(-cosine)[:8]
    names = rows.nth(0).locator(".name").all_inner_texts()
    assert names == stored.labels[nearest].tolist()
    assert f"{cosine[nearest[0]]:.2f}" in rows.nth(0).locator("li").first.inner_text()
    page.click("#another")
    assert "test/00043" in page.locator(".neighbour-row.query").inner_text()


def test_changing_the_level_recolours_and_renames_the_legend(
    browser: Browser, demo_page: Path
) -> None:
    colours = "[...new Set(document.getElementById('map-right')._fullData[0].marker.color)].length"
    with opened(browser, demo_page) as page:
        for level in (1, 2, 3):
            page.select_option("#level", index=level - 1)
            names = [text.strip()[1:] for text in page.locator("#legend button").all_inner_texts()]
            assert names == list(TREE.names_at(level))
            assert page.evaluate(colours) == min(len(names), 8)
        page.select_option("#level", index=0)
        page.locator("#legend button").first.click()
        opacity = page.evaluate("document.getElementById('map-left')._fullData[0].marker.opacity")
        first = TREE.labels_at(1)[np.repeat(np.arange(len(TREE.classes)), 6)] == 0
        assert [value > 0.5 for value in opacity] == first.tolist()


def members(tree: dict[str, Any]) -> list[list[int]]:
    found = [[leaf] for leaf in range(len(tree["order"]))]
    for a, b in tree["children"]:
        found.append(found[a] + found[b])
    return found


def test_clicking_a_branch_highlights_its_members_in_both_trees(
    page: Page, demo_page: Path
) -> None:
    data = page_data(demo_page)
    pair = next(p for p in data["trees"]["pairs"] if (p["left"], p["right"]) == (0, 1))
    left, right = members(pair["left_tree"]), members(pair["right_tree"])
    leaves = data["trees"]["leaves"]
    # Two branches: one the other model keeps together where there is one, one it does not.
    together = {frozenset(m) for m in right}
    n = len(leaves)
    apart = next(k for k in range(n, 2 * n - 2) if frozenset(left[k]) not in together)
    click(page, NODE, ["x", apart])
    note = page.locator("#branch-note").inner_text()
    smallest = min(len(m) for m in right if set(left[apart]) <= set(m))
    assert note.startswith(f"{len(left[apart])} classes: ")
    assert all(leaves[leaf] in note for leaf in left[apart][:12])
    assert f"smallest branch that holds them all has {smallest}." in note
    for axis, tree in (("x", left), ("x3", right)):
        lit = page.evaluate(
            """(axis) => {
              const traces = document.getElementById("tree-plot")._fullData;
              const lines = traces.filter((t) => t.xaxis === axis && t.mode === "lines");
              return [...new Set(lines[1].customdata)];
            }""",
            axis,
        )
        inside = {k for k, m in enumerate(tree) if set(m) <= set(left[apart])}
        assert set(lit) == inside
    page.locator("#tree-plot").press("Escape")
    assert "Click a branch" in page.locator("#branch-note").inner_text()
    same = next((k for k in range(n, 2 * n - 2) if frozenset(left[k]) in together), None)
    if same is not None:
        click(page, NODE, ["x", same])
        assert "keeps them together" in page.locator("#branch-note").inner_text()


def test_hovering_a_leaf_shows_its_class_and_examples(page: Page) -> None:
    hover(page, NODE, ["x", 5])
    assert page.locator("#tip strong").inner_text() == TREE.classes[5]
    assert page.locator("#tip .tile").count() == 6
    path = " › ".join(TREE.paths[5][:-1])
    assert page.locator("#tip small").inner_text() == path


def test_two_models_can_be_exchanged(browser: Browser, demo_page: Path) -> None:
    with opened(browser, demo_page) as page:
        page.select_option("#left-model", label="SAG-VICReg, second half")
        page.select_option("#right-model", label="VICReg, first half")
        assert page.locator("#map-left-name").inner_text() == "SAG-VICReg, second half"
        assert page.locator("#tree-right-name").inner_text() == "VICReg, first half"
        page.select_option("#right-model", label="SAG-VICReg, second half")
        assert page.locator("#map-left-name").inner_text() == "VICReg, first half"


def test_everything_is_reached_by_keyboard(browser: Browser, demo_page: Path) -> None:
    with opened(browser, demo_page) as page:  # nothing was reached before
        tree = page.locator("#tree-plot")
        tree.focus()
        tree.press("ArrowDown")  # the first leaf of the left tree
        assert page.locator("#tip strong").inner_text() == TREE.classes[0]
        tree.press("ArrowRight")  # across to the same leaf on the right
        tree.press("ArrowRight")  # up to its parent
        tree.press("Enter")
        assert re.match(r"\d+ classes: ", page.locator("#branch-note").inner_text())
        chart = page.locator("#map-left")
        chart.focus()
        visited = set()
        for key in ("ArrowRight", "ArrowUp", "ArrowRight", "ArrowDown"):
            chart.press(key)
            visited.add(page.locator("#map-note").inner_text())
        assert len(visited) > 1
        chart.press("Enter")
        chosen = page.locator(".neighbour-row.query").inner_text().split("\n")
        assert chosen[0] in page.locator("#map-note").inner_text()


def check_fit(page: Page, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", paper)[:3])) / 3
    assert (brightness < 60) == (scheme == "dark")
    page.wait_for_function(
        "document.getElementById('training-0').layout.font.color === "
        "getComputedStyle(document.documentElement).getPropertyValue('--soft').trim()"
    )


def test_it_fits_a_phone_in_the_dark(browser: Browser, demo_page: Path) -> None:
    with opened(browser, demo_page, color_scheme="dark") as page:
        check_fit(page, 390, "dark")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_it_fits_and_follows_the_colour_scheme_while_it_is_open(
    page: Page, width: int, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    check_fit(page, width, scheme)


def test_verdicts_and_tables_fit_side_by_side(page: Page) -> None:
    boxes = [each.bounding_box() for each in page.locator(".finding").all()]
    assert len(boxes) == 2
    first, second = boxes
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    cards = page.locator(".finding .card").all()
    assert len({(box := each.bounding_box()) and box["y"] for each in cards}) == 1
    for table in page.locator("#scores .table-scroll").all():
        assert table.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    # The verdict can be read without scrolling.
    assert second["y"] + second["height"] < 900

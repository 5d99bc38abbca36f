"""The page in a real browser: it opens silently, answers hover, click and keys, and fits."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Playwright

from made_runs import TREE, embedded_images, webp
from sag_vicreg.artifacts import Embeddings, Result, write_embeddings, write_thumbnails
from sag_vicreg.report import build_report, maps
from sag_vicreg.report.headline import REPRODUCED
from sag_vicreg.scores import PAPERS_FIVE, Spread

pytestmark = pytest.mark.browser

# Where point i of a map, or node i of a tree, is on the screen.
POINT = """([id, i]) => {
  const plot = document.getElementById(id), box = plot.getBoundingClientRect();
  const { xaxis: x, yaxis: y } = plot._fullLayout, trace = plot._fullData[0];
  return [box.left + x._offset + x.d2p(trace.x[i]), box.top + y._offset + y.d2p(trace.y[i])];
}"""
NODE = """([axis, node]) => {
  const plot = document.getElementById("tree-plot"), box = plot.getBoundingClientRect();
  const trace = plot._fullData.find((t) => t.xaxis === axis && t.mode === "lines");
  const drawn = (k) => trace.customdata[k] === node && trace.x[k] !== null;
  const places = [...trace.customdata.keys()].filter(drawn);
  const k = places[Math.floor(places.length / 2)];
  const x = plot._fullLayout[axis.replace("x", "xaxis")], y = plot._fullLayout.yaxis;
  return [box.left + x._offset + x.d2p(trace.x[k]), box.top + y._offset + y.d2p(trace.y[k])];
}"""
SIZE = {"width": 1280, "height": 900}


def open_page(browser: Browser, path: Path, **context: Any) -> tuple[Page, list[str]]:
    """The page, ready, and what it complains of: console messages, errors, dialogs, requests."""
    page = browser.new_context(viewport=SIZE, **context).new_page()
    page.set_default_timeout(0)  # as long as it takes on this machine; pytest's timeout ends a hang
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None if re.match("(file|data|blob):", request.url) else complaints.append(request.url)
        ),
    )
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    return page, complaints


@contextmanager
def opened(browser: Browser, path: Path, **context: Any) -> Iterator[Page]:
    """The page, ready; leaving it fails where it has complained."""
    page, complaints = open_page(browser, path, **context)
    yield page
    assert complaints == []
    page.context.close()


def page_data(path: Path) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def hover(page: Page, script: str, argument: list[Any]) -> None:
    """Bring a point or node to the middle of the window and rest the mouse on it."""
    _, y = page.evaluate(script, argument)
    page.evaluate("y => scrollBy({ top: y - innerHeight / 2, behavior: 'instant' })", y)
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")  # or that of the place before would do
    page.mouse.move(*page.evaluate(script, argument))
    page.wait_for_selector("#tip:not([hidden])")


def click(page: Page, script: str, argument: list[Any]) -> None:
    hover(page, script, argument)
    page.mouse.down()
    page.mouse.up()


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
    assert page.evaluate("document.getElementById('map-left')._fullData[0].type") == "scattergl"
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


def test_without_webgl_the_map_is_svg(
    playwright: Playwright, chromium: str, demo_page: Path
) -> None:
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-3d-apis"]
    browser = playwright.chromium.launch(executable_path=chromium, args=arguments, timeout=0)
    with opened(browser, demo_page) as page:
        assert page.evaluate("document.getElementById('map-left')._fullData[0].type") == "scatter"
        assert page.locator("#map-left .points path").count() == 6 * len(TREE.classes)
        hover(page, POINT, ["map-left", 3])
    browser.close()


def test_a_page_of_plain_rows_has_no_toolbar_and_speaks_of_rows(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "project", lambda vectors, seed: vectors[:, :2].astype(np.float32))
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", embedded_images(0.3, 0, per_class=1).vectors)
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    with opened(browser, build_report(files, tmp_path / "r.html", half_samples=0)) as page:
        assert page.locator(".toolbar").count() == 0
        assert "48 rows" in (page.locator("#map-left").get_attribute("aria-label") or "")
        click(page, NODE, ["x", 60])
        assert re.match(r"\d+ rows: row ", page.locator("#branch-note").inner_text())
        page.get_by_role("button", name="Another row").click()
        assert page.locator(".neighbour-row.query h3").inner_text() == "row 1"


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


def test_long_names_and_halves_fit_the_table(browser: Browser, tmp_path: Path) -> None:
    Result(
        kind="structure",
        key="k",
        family="f",
        method="sag-vicreg, scale over neighbors",
        seed=0,
        images={},
        options={},
        models=[],
        n_images=100,
        scores=dict.fromkeys((*PAPERS_FIVE, *REPRODUCED), 0.2),
        half_samples=dict.fromkeys(PAPERS_FIVE, Spread(0.5, 0.1)),
        seconds={},
        versions={},
        measures=[],
    ).write(tmp_path)
    with opened(browser, build_report([tmp_path], tmp_path / "r.html")) as page:
        tables = page.locator("#scores .table-scroll").all()
        assert len(tables) == 2
        for table in tables:
            assert table.evaluate("e => e.scrollWidth - e.clientWidth") == 0
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<b>bold</b> & <i>co</i>",
    "</script><script>alert(2)</script>",
    "\"quoted\" 'name' &lt;",
    "{{ 7 * 7 }}",
)


def test_class_names_are_shown_and_never_run(browser: Browser, tmp_path: Path) -> None:
    source = embedded_images(0.3, 1, per_class=4, classes=len(HOSTILE))
    assert source.ids is not None
    ids = np.array([f"<i>{identity}</i>" for identity in source.ids])
    hostile = Embeddings(source.vectors, ids, np.repeat(HOSTILE, 4))
    paths = [tmp_path / f"<b>{name}</b>.parquet" for name in "ab"]
    for path in paths:
        write_embeddings(path, hostile)
    out = build_report(paths, tmp_path / "report.html", title="<u>title</u>", half_samples=0)
    with opened(browser, out) as page:
        assert page.locator("h1").inner_text() == "<u>title</u>"
        texts = [text.strip()[1:] for text in page.locator("#legend button").all_inner_texts()]
        assert sorted(texts) == sorted(HOSTILE)
        drawn = "".join(page.locator("#tree-plot text").all_text_contents())
        assert "<b>bold</b> & <i>co</i>" in drawn
        assert page.locator("#tree-plot text :is(b, i, img, a)").count() == 0
        hover(page, NODE, ["x", 0])
        assert page.locator("#tip strong").inner_text() in HOSTILE
        page.click("label:has(input[value=centroids])")
        page.wait_for_function("document.querySelectorAll('#map-left text').length >= 5")
        labels = page.locator("#map-left text").all_text_contents()
        assert any(label.startswith("<img") for label in labels)
        assert page.locator("img").count() == 0


def test_ten_thousand_points_stay_light_and_are_not_drawn_again_under_the_mouse(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m benchmarks latency` has the milliseconds that a hover takes because of it.

    None of this depends on where UMAP puts the points; its half minute is spared.
    """
    monkeypatch.setattr(maps, "project", lambda vectors, seed: vectors[:, :2].astype(np.float32))
    n, generator = 10_000, np.random.default_rng(0)
    source = embedded_images(0.8, 0, per_class=-(-n // len(TREE.classes))).take(slice(0, n))
    assert source.ids is not None
    for name, noise in (("a", 0.0), ("b", 0.5)):
        vectors = source.vectors + noise * generator.normal(size=source.vectors.shape)
        write_embeddings(
            tmp_path / f"{name}.parquet",
            Embeddings(vectors.astype(np.float32), source.ids, source.labels),
        )
    coarse = generator.integers(0, 255, size=(n, 6, 6, 3), dtype=np.uint8)
    write_thumbnails(
        tmp_path / "thumbnails.parquet", source.ids.tolist(), [webp(pixels) for pixels in coarse]
    )
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    out = build_report(files, tmp_path / "report.html", hierarchy="shapes", trees=0, half_samples=0)
    assert out.stat().st_size < 15e6
    with opened(browser, out) as page:
        assert page.evaluate("document.getElementById('map-left')._fullData[0].x.length") == n
        page.evaluate(
            """() => {
              window.drawn = 0;
              for (const id of ["map-left", "map-right"]) {
                document.getElementById(id).on("plotly_afterplot", () => (window.drawn += 1));
              }
            }"""
        )
        shown = set()
        for i in (50, 900, 4000, 5200, 7777, 9000, 9999):
            hover(page, POINT, ["map-left", i])
            shown.add(page.locator("#tip small").last.inner_text())
        assert len(shown) == 7
        assert page.evaluate("window.drawn") == 0
        page.select_option("#level", index=1)  # which does draw both again
        page.wait_for_function("window.drawn >= 2")

"""Pages of other sources in a real browser: plain rows, long and hostile names, many points."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Playwright

from made_runs import TREE, embedded_images, webp
from pages_in_browser import MAP_TYPE, NODE, POINT, click, hover, opened
from sag_vicreg.artifacts import Embeddings, Result, write_embeddings, write_thumbnails
from sag_vicreg.report import build_report
from sag_vicreg.report.headline import REPRODUCED
from sag_vicreg.scores import PAPERS_FIVE, Spread

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("quick_maps")]


def test_a_page_of_plain_rows_has_no_toolbar_and_speaks_of_rows(
    browser: Browser, tmp_path: Path
) -> None:
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
    browser: Browser, tmp_path: Path
) -> None:
    """`python -m benchmarks latency` has the milliseconds that a hover takes because of it.

    None of this depends on where UMAP puts the points; its half minute is spared.
    """
    n, generator = 10_000, np.random.default_rng(0)
    source = embedded_images(0.8, 0, per_class=-(-n // len(TREE.classes))).take(slice(0, n))
    assert source.ids is not None
    for name, noise in (("a", 0.0), ("b", 0.5)):
        vectors = source.vectors + noise * generator.normal(size=source.vectors.shape)
        write_embeddings(
            tmp_path / f"{name}.parquet",
            Embeddings(vectors.astype(np.float32), source.ids, source.labels),
        )
    coarse = generator.integers(0, 255, size=(n // 20, 6, 6, 3), dtype=np.uint8)
    pictures = 20 * [webp(pixels) for pixels in coarse]
    write_thumbnails(tmp_path / "thumbnails.parquet", source.ids.tolist(), pictures)
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    out = build_report(files, tmp_path / "report.html", hierarchy="shapes", trees=0, half_samples=0)
    assert out.stat().st_size < 15e6
    with opened(browser, out) as page:
        assert page.evaluate("document.getElementById('map-left')._fullData[0].x.length") == n
        assert page.evaluate(MAP_TYPE) == "scattergl"
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


def test_without_webgl_a_large_map_is_svg(
    playwright: Playwright, chromium: str, tmp_path: Path
) -> None:
    source = embedded_images(0.3, 0, per_class=21)
    write_embeddings(tmp_path / "a.parquet", source)
    out = build_report([tmp_path / "a.parquet"], tmp_path / "report.html", trees=0)
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-3d-apis"]
    browser = playwright.chromium.launch(executable_path=chromium, args=arguments, timeout=0)
    with opened(browser, out) as page:
        assert page.evaluate(MAP_TYPE) == "scatter"
        assert page.locator("#map-left .points path").count() == len(source.vectors) > 1000
        hover(page, POINT, ["map-left", 3])
    browser.close()

"""What a person waits for: the command's answer, an import, drawn images, a hover in a page."""

import shutil
import statistics
import tempfile
import time
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report, Target
from benchmarks.timing import cpu_seconds
from sag_vicreg.artifacts import Embeddings, write_embeddings, write_thumbnails
from sag_vicreg.data.shapes import draw_shapes
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.progress import track
from sag_vicreg.report import build_report

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Software WebGL: what a machine without a graphics card has.
BROWSER_OPTIONS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
HOVERS = 15

# Milliseconds from the mouse's move to the card that shows the point under it.
HOVER = """async (hovers) => {
  const [plot, tip] = ["map-left", "tip"].map((id) => document.getElementById(id));
  const { xaxis, yaxis } = plot._fullLayout;
  const { x, y } = plot._fullData[0];
  const taken = [];
  for (let hover = 0; hover < hovers; hover++) {
    const i = Math.floor((hover / hovers) * x.length);
    const box = plot.getBoundingClientRect();
    const clientX = box.left + xaxis._offset + xaxis.d2p(x[i]);
    const clientY = box.top + yaxis._offset + yaxis.d2p(y[i]);
    await new Promise((done) => setTimeout(done, 150)); // past Plotly's pause between two hovers
    const shown = new Promise((done) => {
      new MutationObserver(done).observe(tip, { childList: true });
    });
    const start = performance.now();
    const move = new MouseEvent("mousemove", { clientX, clientY, bubbles: true });
    plot.querySelector(".nsewdrag").dispatchEvent(move);
    await shown;
    taken.push(performance.now() - start);
  }
  return taken;
}"""


def run(*, repeats: int = 5, per_class: int = 209) -> Report:
    """Time all four; the hover where there is a Chromium.

    Parameters
    ----------
    repeats
        Repetitions whose median counts.
    per_class
        Images per class of ``shapes``; 209 make 10,032, the points of the page.
    """
    commands = {
        "sag-vicreg --version": ["-m", "sag_vicreg", "--version"],
        "sag-vicreg --help": ["-m", "sag_vicreg", "--help"],
        "import sag_vicreg.structure": ["-c", "import sag_vicreg.structure"],
        "python itself": ["-c", ""],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in track(range(repeats), "starting"):
        for name, words in commands.items():
            taken[name].append(cpu_seconds(words))
    seconds = {name: statistics.median(each) for name, each in taken.items()}
    bare = seconds.pop("python itself")
    start = time.process_time()
    pixels, labels = draw_shapes("train", per_class=per_class)
    drawing = time.process_time() - start
    rows = [(f"{name}, CPU", f"{1e3 * each:,.0f}") for name, each in seconds.items()]
    rows.append(("of each, Python itself, CPU", f"{1e3 * bare:,.0f}"))
    rows.append((f"drawing {len(pixels):,} shapes, CPU", f"{1e3 * drawing:,.0f}"))
    targets = [
        Target(
            "sag-vicreg --version, CPU seconds", seconds["sag-vicreg --version"], 1, at_least=False
        ),
        Target("sag-vicreg --help, CPU seconds", seconds["sag-vicreg --help"], 1, at_least=False),
        Target(
            "import sag_vicreg.structure, CPU seconds beyond Python's own",
            seconds["import sag_vicreg.structure"] - bare,
            0.5,
            at_least=False,
        ),
        Target(
            f"drawing {len(pixels):,} shapes, CPU seconds",
            drawing,
            len(pixels) / 1e3,
            at_least=False,
        ),
    ]
    if (browser := find_browser()) is not None:
        hover = hover_milliseconds(browser, pixels, labels)
        rows.append((f"hovering a point in the page of {len(pixels):,} images", f"{hover:,.0f}"))
        targets.append(Target("hovering a point, milliseconds", hover, 100, at_least=False))
    return Report("What a person waits for", ("what", "milliseconds"), list(rows), targets)


def find_browser() -> str | None:
    """Find a Chromium on this machine."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def hover_milliseconds(browser: str, pixels: Pixels, labels: Labels) -> float:
    """Return the median milliseconds of a hover in a page of all images under two models."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        page_file = _page(Path(name), pixels, labels)
        opened = playwright.chromium.launch(
            executable_path=browser, args=list(BROWSER_OPTIONS), timeout=0
        )
        page = opened.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(0)
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.locator("#map-left").scroll_into_view_if_needed()
        milliseconds: list[float] = page.evaluate(HOVER, HOVERS)
        opened.close()
    return statistics.median(milliseconds)


def _page(folder: Path, pixels: Pixels, labels: Labels) -> Path:
    """Write the report of two made-up models of the images."""
    from PIL import Image

    tree = load_hierarchy("shapes")
    ids = np.array([f"{row:05d}" for row in range(len(labels))])
    classes = np.array(tree.classes)[labels]
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(tree.classes), 16))[labels]
    for model in "ab":
        seen = (vectors + 0.8 * rng.normal(size=vectors.shape)).astype(np.float32)
        write_embeddings(folder / f"{model}.parquet", Embeddings(seen, ids, classes))
    thumbnails = []
    for image in pixels.transpose(0, 2, 3, 1):
        buffer = BytesIO()
        Image.fromarray(image).save(buffer, "WEBP", method=0)
        thumbnails.append(buffer.getvalue())
    write_thumbnails(folder / "thumbnails.parquet", ids.tolist(), thumbnails)
    files = [folder / "a.parquet", folder / "b.parquet"]
    return build_report(files, folder / "report.html", hierarchy="shapes", half_samples=0)

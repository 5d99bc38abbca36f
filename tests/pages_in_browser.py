"""Pages opened in a real browser: every complaint is kept, and the mouse finds what is drawn."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

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
MAP_TYPE = "document.getElementById('map-left')._fullData[0].type"
SIZE = {"width": 1280, "height": 900}


def open_page(browser: Browser, path: Path, **context: Any) -> tuple[Page, list[str]]:
    """The page, ready, and what it complains of: console messages, errors, dialogs, requests."""
    page = browser.new_context(viewport=SIZE, **context).new_page()
    page.set_default_timeout(0)  # as long as it takes on this machine; pytest's timeout ends a hang
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: (
            # That drawing is read back is how a browser without a graphics card shows any of it.
            None if "GL Driver Message" in message.text else complaints.append(message.text)
        ),
    )
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

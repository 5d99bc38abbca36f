"""Made-up runs, and a browser to look at their pages with."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from made_runs import write_run


@pytest.fixture(scope="session")
def four_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """VICReg and SAG-VICReg, each on both halves of the classes."""
    folder = tmp_path_factory.mktemp("runs")
    for method, noise in (("vicreg", 1.2), ("sag-vicreg", 0.5)):
        for half in ("first", "second"):
            write_run(folder / f"{method}-{half}", method, half, noise=noise)
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("no Chromium on this machine")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    # Software WebGL, what a machine without a graphics card has, for what asks for it alone: the
    # rest of a page costs half the time without.
    arguments = [
        "--no-sandbox",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        "--disable-gpu-compositing",
    ]
    browser = playwright.chromium.launch(executable_path=chromium, args=arguments, timeout=0)
    yield browser
    browser.close()

"""The demo from end to end at its smallest, and again: what is finished is not done again."""

import html
import re
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sag_vicreg import demo
from sag_vicreg.cli import app


@pytest.mark.slow
@pytest.mark.usefixtures("quick_maps")
def test_the_demo_ends_with_its_page_and_a_second_run_reuses_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("compare", "build_report"):  # of as few trees as a forest may have
        monkeypatch.setattr(demo, name, partial(getattr(demo, name), trees=8))
    out = tmp_path / "demo"
    command = ["demo", "--out", str(out), "--scale", "smoke"]
    terminal = CliRunner(env={"COLUMNS": "80"})
    first = terminal.invoke(app, command, catch_exceptions=False)
    assert first.exit_code == 0, first.output
    page = out / "report.html"
    assert first.stdout.splitlines()[-1] == str(page)
    printed = " ".join(first.stdout.split())
    # The verdict of each method, the forest before the paper's five numbers, then the levels.
    order = (
        " VICReg: The sets ",
        " SAG-VICReg: The sets ",
        "forest similarity 0.",
        "nearest neighbours shared",
        "LCA Pearson",
        "cophenetic D2 to P1",
        "Largest class alone",
        "Ahead here: VICReg in ",
        "; SAG-VICReg in ",
        "not which method",
    )
    places = [printed.rindex(words) for words in order]
    assert places == sorted(places)
    assert "…" not in first.stdout, "everything fits 80 columns"
    text = page.read_text(encoding="utf-8")
    assert "VICReg and SAG-VICReg on classes they never saw" in text
    assert text.count('class="verdict">The sets ') == 2
    assert "sag-vicreg train --recipe shapes/sag-vicreg" in text

    # The page's commands make the very files the demo made.
    made = set(re.findall(r"--out (\S+\.parquet)", html.unescape(text)))
    embedded = {str(path) for path in out.rglob("shapes-*.parquet")}
    assert made == embedded

    runs = sorted((out / "runs").iterdir())
    assert [run.name for run in runs] == [
        "sag-vicreg-first",
        "sag-vicreg-second",
        "vicreg-first",
        "vicreg-second",
    ]
    finished = [path for run in runs for path in run.rglob("*") if path.is_file()]
    before = {path: path.stat().st_mtime_ns for path in finished}
    second = terminal.invoke(app, command, catch_exceptions=False)
    assert second.stdout.count("already trained") == 4
    assert {path: path.stat().st_mtime_ns for path in finished} == before


def test_an_unknown_scale_is_one_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--scale", "paper"])
    assert done.exit_code == 2
    assert "Valid: cpu, smoke" in done.stderr

"""Every code block of the README and of docs/ runs, in the order a reader meets it.

Python blocks of one page share one namespace; commands of one page share one folder. Training runs
at the smoke scale whatever scale the page shows, and tables are planned with ``--dry-run``.
Installation lines are checked rather than run. A block with a title is a file of that name; where a
line installs a folder of such files, it is put on the path, with its entry points.
"""

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
REAL_DATASETS = ("cifar100", "caltech256", "imagenet")
SCALED = ("demo", "train", "reproduce")
SMALLER = {
    "embed": ("--max-images", "192"),
    "evaluate": ("--clusters", "4", "--probe-seeds", "1"),
    "compare": ("--permutations", "9", "--trees", "8"),
    "report": ("--half-samples", "2", "--trees", "8"),
    **dict.fromkeys(("gate", "calibrate", "sweep"), ("--trees", "8")),
    "selftest": ("--trees", "8", "--items", "60"),
}
RUNNABLE = ("python", "bash", "yaml", "json", "toml", "text")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it starts, its language, its text, the file it is."""

    line: int
    language: str
    text: str
    title: str | None


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    start = None
    for number, line in enumerate(lines, start=1):
        fence = re.match(r'\s*```\s*(\w*)(?: title="(.+)")?', line)
        if not fence:
            continue
        if start is None:
            start, language, title = number, fence[1], fence[2]
            indent = len(line) - len(line.lstrip())
        else:
            text = "\n".join(inner[indent:] for inner in lines[start : number - 1])
            yield Block(start, language, text, title)
            start = None
    assert start is None, f"{page}:{start}: the block never ends"


def commands(text: str) -> Iterator[list[str]]:
    """The commands of a shell block, comments dropped, continued lines joined."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def smoke(words: list[str]) -> list[str]:
    """The same command at the smallest scale."""
    # Click takes the last of a repeated option.
    words = [*words, *SMALLER.get(words[0], ())]
    if words[0] not in SCALED or "--resume" in words:
        return words
    if "--scale" not in words:
        words = [*words, "--scale", "smoke"]
    place = words.index("--scale") + 1
    small = [*words[:place], "smoke", *words[place + 1 :]]
    # Tables are planned here and run for real in tests/reproduce.
    return [*small, "--dry-run"] if words[0] == "reproduce" else small


def check_installation(words: list[str]) -> bool:
    """Check a line that sets the machine up: its make target or its extra exists."""
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(words[1:]) <= set(targets)
        return True
    if words[:2] == ["pip", "install"] and words[2].startswith("./"):
        install(Path(words[2]))
        return True
    if words[:2] == ["pip", "install"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(extras.split(",")) <= set(project["optional-dependencies"])
        return True
    return words[0] in ("git", "cd", "export")


def install(folder: Path) -> None:
    """Install a package as ``pip install -e`` would, as far as a search path can tell."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    notes = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    notes.mkdir()
    metadata = f"Name: {project['name']}\nVersion: {project['version']}\n"
    (notes / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (notes / "entry_points.txt").write_text("\n".join(lines) + "\n")
    sys.path.insert(0, str(folder.resolve()))


def run_command(words: list[str]) -> None:
    if check_installation(words):
        return
    # A launcher's prefix says on how many machines, not what.
    while words and words[0] != "sag-vicreg":
        words = words[1:]
    assert words, "only commands of ours can be tested"
    done = CliRunner().invoke(app, smoke(words[1:]), catch_exceptions=False)
    if done.exit_code == 2 and done.stderr.startswith("error: "):
        raise InputError(f"{shlex.join(words)}: {done.stderr}")
    # A gate answers by its exit code: pass, fail or undecided.
    answers = (0, 1, 3) if words[1] == "gate" else (0,)
    assert done.exit_code in answers, f"{shlex.join(words)}\n{done.output}"


@pytest.fixture
def example_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files examples speak of: embeddings somebody already has, of the same 300 items."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    generator = np.random.default_rng(0)
    a = generator.normal(size=(300, 16)).astype(np.float32)
    b = a @ generator.normal(size=(16, 8)).astype(np.float32)
    for name, vectors in {"old": a, "new": b, "run1": a, "run2": b, "run3": a + 1}.items():
        np.save(f"{name}.npy", vectors)
    write_embeddings("new.parquet", Embeddings(b))
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("quick_maps")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_the_page_runs(page: Path, example_files: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        assert block.language in RUNNABLE, f"{where}: say which language, one of {RUNNABLE}"
        try:
            run_block(block, where, namespace)
        except InputError as error:
            # Only a missing real dataset excuses a block, and only where there is none.
            missing = re.search(r"where is (\w+)\?", str(error))
            if "SAG_VICREG_DATA" in os.environ or missing is None:
                raise
            assert missing[1].startswith(REAL_DATASETS)


def run_block(block: Block, where: str, namespace: dict[str, object]) -> None:
    if block.title is not None:
        file = Path(block.title)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text + "\n")
    elif block.language == "python":
        exec(compile(block.text, where, "exec"), namespace)
    elif block.language == "bash":
        for words in commands(block.text):
            run_command(words)
    elif block.language == "yaml":
        assert yaml.safe_load(block.text) is not None, where
    elif block.language == "json":
        json.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_imports_lightning_before_us(page: Path) -> None:
    """Alone, as a reader copies it, it would fail beside a torchvision of another build."""
    for block in blocks(page):
        if block.language != "python" or block.title is not None:
            continue
        imported = re.findall(r"^(?:from|import) (sag_vicreg|lightning)\b", block.text, re.M)
        assert imported[:1] != ["lightning"], f"{page.name}:{block.line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_relative_link_of_the_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        assert (page.parent / target.split("#")[0]).exists(), f"{page.name}: {target}"

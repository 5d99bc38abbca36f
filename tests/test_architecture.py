"""The shape of the package: names are defined once, and calls go downwards."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

from sag_vicreg.scores import MEASURES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sag_vicreg"


def test_no_class_name_is_defined_twice() -> None:
    defined = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert len(defined) > 100
    assert [name for name, times in defined.items() if times > 1] == []


def test_titles_of_scores_stand_in_the_vocabulary_alone() -> None:
    titles = {title for each in MEASURES.values() for title in (each.title, each.short)}
    spelled = {
        f"{path.relative_to(PACKAGE)}: {node.value}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "scores.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in titles
    }
    assert spelled == set()


def test_the_walks_through_the_files_never_step_back_upwards() -> None:
    """As docs/architecture.md tells them: the layers are those of the import contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    place = {name: n for n, line in enumerate(layers) for name in line.split(" | ")}
    page = (ROOT / "docs" / "architecture.md").read_text()
    walks = re.findall(r"^### (One image|Two files)[^\n]*\n(.*?)(?=^##|\Z)", page, re.M | re.S)
    assert [name for name, _ in walks] == ["One image", "Two files"]
    for name, walk in walks:
        files = re.findall(r"^\| `([\w/]+\.py)` \|", walk, re.M)
        assert len(files) >= 8, name
        assert all((PACKAGE / file).is_file() for file in files)
        steps = [place[file.split("/")[0].removesuffix(".py")] for file in files]
        assert steps == sorted(steps), name

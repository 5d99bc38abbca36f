"""The section "All rows": a tree of each whole table, branch by branch, and its flow."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from sag_vicreg.artifacts import open_table
from sag_vicreg.artifacts.table_labels import MOST_LABELS, encode_labels
from sag_vicreg.cli import app
from sag_vicreg.passes import Passes
from sag_vicreg.report import build_report, maps
from sag_vicreg.report.whole import Whole, build_whole
from sag_vicreg.structure import compare_clusters
from sag_vicreg.structure.branches import FATES
from sag_vicreg.structure.cluster_branches import ClusterTree
from sag_vicreg.structure.micro_clusters import micro_clusters
from tables import as_table, names_of, two_sets, write_folder

N = 600
RNG = np.random.default_rng(0)
ORDER = RNG.permutation(N)


def write(folder: Path, x: np.ndarray, ids: np.ndarray, labels: np.ndarray | None) -> Path:
    folder.mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(x)), 3)):
        table = as_table(x[rows], ids[rows])
        if labels is not None:
            table = table.append_column("label", [labels[rows].tolist()])
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=70)
    return folder


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    """Of the groups that can be seen in the vectors, with a name that needs escaping."""
    a, _ = two_sets(N)
    groups = (a @ RNG.normal(size=(8, 2)) > 0) @ [1, 2]
    return np.array(["ash", "<b>oak</b>", "elm", "fir"])[groups]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, labels: np.ndarray) -> list[Path]:
    """Two tables in different orders; only the first has labels."""
    root = tmp_path_factory.mktemp("tables")
    a, b = two_sets(N)
    return [
        write(root / "old", a, names_of(N), labels),
        write(root / "new", b[ORDER], names_of(N)[ORDER], None),
    ]


@pytest.fixture(scope="module")
def whole(folders: list[Path]) -> Whole:
    return build_whole([open_table(each) for each in folders], ["old", "new"], clusters=40)


def members(tree: ClusterTree) -> list[set[int]]:
    """The rows of each node, joined merge by merge."""
    clusters = tree.clusters.labels
    found = [set(np.flatnonzero(clusters == each).tolist()) for each in range(tree.tree.n)]
    for left, right in tree.tree.children.tolist():
        found.append(found[left] | found[right])
    return found


def test_branches_are_called_by_the_labels_of_all_their_rows(
    whole: Whole, folders: list[Path], labels: np.ndarray
) -> None:
    for outline, folder, own in zip(whole.outlines, folders, (labels, labels[ORDER]), strict=True):
        table = open_table(folder)
        rows = members(ClusterTree.of(micro_clusters(table, Passes(), clusters=40)))
        assert len(outline.nodes) > 40
        for place, node in enumerate(outline.nodes):
            assert outline.rows[place] == len(rows[node])
            counted = Counter(own[list(rows[node])].tolist())
            said = dict(re.findall(r"([^,]+?) (\d+)%(?:, )?", outline.names[place]))
            if not said:
                assert counted[outline.names[place]] >= 0.8 * len(rows[node])
                continue
            most = sorted(counted.values())[::-1][:2]
            assert [counted[label] for label in said] == most
            shares = [f"{count / len(rows[node]):.0%}" for count in most]
            assert [f"{share}%" for share in said.values()] == shares
            assert most[0] < 0.8 * len(rows[node])


def test_examples_are_in_their_branch(whole: Whole, folders: list[Path]) -> None:
    for outline, folder, ids in zip(
        whole.outlines, folders, (names_of(N), names_of(N)[ORDER]), strict=True
    ):
        tree = ClusterTree.of(micro_clusters(open_table(folder), Passes(), clusters=40))
        rows = members(tree)
        for place, node in enumerate(outline.nodes):
            named = {outline.central[each] for each in outline.examples[place]}
            assert named <= set(ids[list(rows[node])].tolist())
            assert len(named) == min(3, len(tree.leaves(node)))


def test_the_flow_is_of_all_rows_and_says_what_became_of_branches(
    whole: Whole, folders: list[Path]
) -> None:
    old, new = whole.outlines
    assert whole.flow is not None
    assert sum(ribbon.count for ribbon in whole.flow.ribbons) > 0.9 * N
    labels = [bar.label for bar in whole.flow.old]
    assert [label.name for label in labels] == [old.names[place] for place in old.parts[0]]
    assert [label.fate for label in labels] == [old.fates[place] for place in old.parts[0]]
    asked = {place for place, parts in enumerate(old.parts) if place and parts}
    assert {place for place, fate in enumerate(old.fates) if fate in FATES} == asked
    assert not any(new.fates)
    # Both trees have a branch's colour where the new one is mostly made of the old one.
    assert set(new.colors) <= set(old.colors)
    counted = re.findall(r"(\d+) \w+ \(([\d,]+) rows\)", whole.sentence)
    assert sum(int(branches) for branches, _ in counted) == len(old.parts[0])
    assert sum(int(rows.replace(",", "")) for _, rows in counted) == N
    found = compare_clusters(*map(open_table, folders), clusters=40)
    assert [card.value for card in whole.cards] == [
        f"{value:.3f}" for value in (found.pearson, found.spearman, found.kendall)
    ]


def test_the_gap_that_is_quoted_is_the_one_recorded(whole: Whole) -> None:
    recorded = Path(__file__).parents[2] / "benchmarks" / "results" / "clusters.json"
    rows = json.loads(recorded.read_text())["rows"]
    measured = {row[0].partition(",")[0]: row[1] for row in rows if row[1]}
    quoted = re.findall(r"(\d\.\d{3}) \(([\w-]+)", whole.about)
    assert {name: pearson for pearson, name in quoted} == measured


def test_one_table_without_labels_has_a_tree_and_no_flow(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "t", two_sets(N)[0])
    found = build_whole([open_table(path)], ["t"], clusters=40)
    (outline,) = found.outlines
    assert (found.flow, found.cards) == (None, ())
    assert all(re.fullmatch(r"like row \d+", name) for name in outline.names)
    assert len(outline.colors) == len(outline.parts[0])


def test_labels_are_numbered_as_they_come(folders: list[Path], labels: np.ndarray) -> None:
    for passes in (Passes(1), Passes(3)):
        found = encode_labels(open_table(folders[0]), passes)
        assert found is not None
        names, codes = found
        assert np.array(names)[codes].tolist() == labels.tolist()
    assert encode_labels(open_table(folders[1]), Passes()) is None


def test_a_column_of_too_many_labels_is_none_of_classes(tmp_path: Path) -> None:
    n = MOST_LABELS + 1
    x = RNG.normal(size=(n, 3))
    path = write(tmp_path / "t", x, names_of(n), np.arange(n))
    assert encode_labels(open_table(path), Passes()) is None
    few = write(tmp_path / "u", x[:9], names_of(9), np.arange(9) % 3)
    found = encode_labels(open_table(few), Passes())
    assert found is not None
    assert found[0] == ("class 0", "class 1", "class 2")


@pytest.fixture(scope="module")
def page(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maps, "project", lambda v, seed: np.asarray(v[:, :2], dtype=np.float32))
        return build_report(
            list(map(str, folders)), out, clusters=True, max_points=120, trees=8, half_samples=0
        )


def test_the_page_says_what_is_of_all_rows_and_what_of_a_sample(page: Path) -> None:
    text = page.read_text()
    assert "Two models embed the same 600 rows of 4 classes." in text
    assert "Scores, map and neighbours are of 120 random rows of 600" in text
    assert "--max-points=120 --trees=8 --half-samples=0 --clusters<" in text
    assert "of the variance lies within micro-clusters" in text
    section = text[text.index('<section id="moved"') : text.index('<section id="rows"')]
    assert '<p class="flow-title">All 600 rows</p>' in section
    assert "<b>oak</b>" not in text


def test_branches_open_and_close(page: Path, browser: Browser) -> None:
    tab = browser.new_page()
    tab.set_default_timeout(0)  # as long as it takes on this machine
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-ready]")
    data = json.loads(tab.locator("#data").text_content() or "")["whole"][0]
    first, count = data["parts"][0]
    card = tab.locator(".whole").first
    top = card.locator(".branches > li")
    assert top.count() == count
    assert f"{data['rows'][first]:,} rows" in top.first.inner_text()
    assert data["names"][first] in top.first.inner_text()
    opened, parts = data["parts"][first]
    button = top.first.locator("button").first
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    inner = top.first.locator(":scope > ul > li")
    assert inner.count() == parts
    assert data["names"][opened] in inner.first.inner_text()
    button.press("Enter")
    assert not inner.first.is_visible()
    # A branch of the picture opens the list down to it.
    below = tab.locator(".levels").first.locator("rect").nth(1)
    below.dispatch_event("mousemove")
    assert data["names"][opened] in tab.locator("#tip").inner_text()
    below.click()
    assert inner.first.is_visible()
    assert complaints == []
    tab.close()


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["report", *arguments])
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_faults_are_one_line(folders: list[Path], tmp_path: Path) -> None:
    old, new = map(str, folders)
    out = ("--out", str(tmp_path / "page.html"))
    assert "`--clusters` takes a folder of the files of one" in refused(old, new, *out)
    assert "3 tables: --clusters shows one, or compares two" in refused(
        old, new, old, "--clusters", *out
    )
    assert "there is no such file or folder" in refused(str(tmp_path / "x"), "--clusters", *out)
    other = write_folder(tmp_path / "other", two_sets(N)[1], names_of(N + 1)[1:])
    assert "is missing from" in refused(old, str(other), "--clusters", *out)
    assert not list(tmp_path.glob("*.html*"))

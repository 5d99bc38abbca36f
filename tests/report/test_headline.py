"""The scores a page opens with: the verdict, the cards, the tables and their marks."""

import re
from pathlib import Path

import numpy as np
import pytest

from made_pages import text_of, visible
from made_runs import embedded_images
from sag_vicreg.artifacts import Embeddings, write_embeddings
from sag_vicreg.report import build_report
from sag_vicreg.report.comparing import Compared
from sag_vicreg.report.headline import structure_headline
from sag_vicreg.report.points import gather_points
from sag_vicreg.report.sources import open_sources
from sag_vicreg.report.tables import PageTable, ScoreRow, score_table
from sag_vicreg.scores import PAPERS_FIVE, UNSTABLE, Spread, titles
from sag_vicreg.structure import compare, linear_cka, mutual_neighbors

pytestmark = pytest.mark.usefixtures("quick_maps")

FIVE = titles(PAPERS_FIVE, "short")


def test_the_page_shows_the_scores_compare_gives(four_runs: Path, tmp_path: Path) -> None:
    page = build_report([four_runs], tmp_path / "r.html", trees=8, half_samples=3, seed=5)
    text = visible(page.read_text())
    points = gather_points(open_sources([four_runs]).models)
    assert points is not None
    expected = compare(points.vectors[2], points.vectors[3], trees=8, half_samples=3, seed=5)
    assert expected.half_samples is not None
    assert expected.forest is not None
    low, high = expected.forest.interval
    both = [np.asarray(x, float) for x in points.vectors[2:]]
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in both]
    shown = {
        "forest": f"{expected.forest.spearman:.3f}",
        "interval": f"{low:.3f} to {high:.3f}",
        "neighbours": f"{mutual_neighbors(unit[0], unit[1], k=10):.1%}",
        "cka": f"{linear_cka(unit[0], unit[1]):.3f}",
        "closest pairs": f">{expected.forest.by_scale[1].similarity:.3f}<",
        "five": f"{expected.lca.kendall:.3f}",
        "self-score": f"self-score: {expected.self_scores[1]:.3f}",
    }
    # In the order in which they are to be read.
    places = [text.index(number) for number in shown.values()]
    assert places == sorted(places), dict(zip(shown, places, strict=True))
    mean, deviation = expected.half_samples.mean, expected.half_samples.deviation
    halves = f"{mean.cophenetic.d2_to_p1:.3f} ± {deviation.cophenetic.d2_to_p1:.3f}"
    assert f"halves: {halves}" in text
    assert "VICReg and SAG-VICReg on classes they never saw" in text
    assert "Four models embed the same 288 held-out images of 48 classes (shapes)." in text


def test_two_sets_open_with_their_verdict_and_three_cards(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", source.vectors)
    text = visible(text_of(tmp_path / "a.npy", tmp_path / "b.npy", trees=8))
    agree = "The sets agree closely: forest similarity 1.00 (1.00 to 1.00); 100% of nearest"
    places = [text.index(f'class="verdict">{agree}')]
    for card in ("Forest similarity", "Neighbours shared", "Linear CKA"):
        places.append(text.index(f'card-label">{card}<'))
    places.append(text.index("Forests, from fine to coarse"))
    places.append(text.index("The paper’s five numbers"))
    assert places == sorted(places)
    assert text.count('class="card"') == 3


def test_where_there_is_no_forest_the_page_says_why(tmp_path: Path) -> None:
    vectors = embedded_images(0.3, 0, per_class=1).vectors
    for name, noise in zip("abc", (0.0, 0.2, 0.4), strict=True):
        moved = vectors + noise * np.random.default_rng(0).normal(size=vectors.shape)
        np.save(tmp_path / f"{name}.npy", moved)
    files = [tmp_path / f"{name}.npy" for name in "abc"]
    few = "No forest similarity: 48 rows, and a forest needs at least 50; "
    for some in (files[:2], files):
        text = visible(text_of(*some, trees=100))
        assert text.count(few) == 1
        assert "Forest similarity" not in text
        assert 'id="tree-plot"' in text
    assert "There is no forest similarity." in text
    assert "no trees were asked for" in text_of(*files[:2])


@pytest.mark.parametrize("rows", [1, 2])
def test_a_page_of_too_few_rows_says_so(tmp_path: Path, rows: int) -> None:
    np.save(tmp_path / "few.npy", np.eye(4)[:rows])
    text = text_of(tmp_path / "few.npy", tmp_path / "few.npy")
    assert "Too few rows: scores, trees, map and neighbours need 3, a forest 50." in visible(text)


def test_of_many_pairs_the_most_and_the_least_alike_are_named(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    generator = np.random.default_rng(0)
    for name, noise in (("same", 0.0), ("near", 0.02), ("far", 5.0)):
        moved = source.vectors + noise * generator.normal(size=source.vectors.shape)
        np.save(tmp_path / f"{name}.npy", moved)
    constant = np.ones_like(source.vectors)
    np.save(tmp_path / "flat.npy", constant)
    files = [tmp_path / f"{name}.npy" for name in ("same", "near", "far", "flat")]
    text = visible(text_of(*files, trees=8))
    assert "Most alike by forest similarity: same.npy and near.npy, " in text
    assert re.search(r"Least: (same|near)\.npy and far\.npy, ", text)
    assert text.count("Not compared here, in cosine geometry: ") == 3, "the others are still shown"
    # The forest's column comes first, before neighbours and before the five.
    heads = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert heads[:2] == ["Models", "Forest similarity"]
    assert heads.index("Linear CKA") < heads.index("LCA Pearson")


def test_vectors_without_a_correlation_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    source = embedded_images(0.3, 0, per_class=2)
    write_embeddings(tmp_path / "a.parquet", source)
    constant = np.ones_like(source.vectors)
    write_embeddings(tmp_path / "b.parquet", Embeddings(constant, source.ids, source.labels))
    page = text_of(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert "Not compared here" in page
    assert 'id="map-left"' in page
    zeros = Embeddings(np.zeros_like(source.vectors), source.ids, source.labels)
    write_embeddings(tmp_path / "c.parquet", zeros)
    assert "There are no trees" in text_of(tmp_path / "c.parquet")
    assert "There are no trees" not in text_of(tmp_path / "a.parquet")


def test_halves_are_explained_only_where_there_are_some() -> None:
    values = dict.fromkeys(FIVE, 0.883)
    halves = dict.fromkeys(FIVE, Spread(0.8, 0.05))
    for row, said in ((ScoreRow("a", values, halves=halves), True), (ScoreRow("a", values), False)):
        headline = structure_headline(
            [Compared(row, "Alike")], halves=False, half_samples=8, noun="row"
        )
        (five,) = headline.tables
        assert ("8 random halves of the rows" in five.note) == said
        assert [finding.verdict for finding in headline.findings] == ["Alike."]


def marked(score: float, mean: float, deviation: float, **others: float) -> PageTable:
    """A table of two rows, the first with these halves."""
    values = {"lca.pearson": score, **others}
    first = ScoreRow("first", values, halves={"lca.pearson": Spread(mean, deviation)})
    second = ScoreRow("second", {"lca.pearson": -1.0})
    return score_table([first, second], FIVE, title="", note="Said.", corner="")


def test_a_mark_stands_where_half_samples_move_a_score_and_only_there() -> None:
    """A spread of 0.143 was once not marked, and one of 0.001 was."""
    for mean, deviation, unstable in (
        (0.88, 0.143, True),  # the halves differ from one another
        (0.80, 0.001, True),  # the tree of all items differs from theirs
        (0.88, 0.01, False),
        (0.87, 0.001, False),  # far by its deviation, and yet near
    ):
        table = marked(0.883, mean, deviation)
        cell = table.rows[0].cells[0]
        assert cell.text == "0.883"
        (note,) = cell.notes
        assert note.removesuffix(" †") == f"halves: {mean:.3f} ± {deviation:.3f}"
        assert note.endswith("†") == unstable
        assert ("†" in table.note) == unstable
        assert cell.best != unstable, "chance wins nothing"
    assert f"more than {UNSTABLE}" in marked(0.8, 0.5, 0.1).note


def test_a_mark_says_to_read_the_forest_where_there_is_one() -> None:
    forest = {"forest.spearman": 0.9}
    assert "read the forest similarity." in marked(0.8, 0.5, 0.1, **forest).note
    assert "one tree says little here." in marked(0.8, 0.5, 0.1).note


def test_scores_that_read_alike_are_bold_together() -> None:
    rows = [ScoreRow(str(v), {"lca.pearson": v}) for v in (0.9301, 0.9299, 0.9)]
    table = score_table(rows, FIVE, title="", note="", corner="")
    assert [row.cells[0].best for row in table.rows] == [True, True, False]
    assert table.rows[0].cells[1].text == "–"

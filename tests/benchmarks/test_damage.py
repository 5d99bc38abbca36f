"""The trial on planted damage: its truths, its claims, its rule, and the page written from them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.damage import Record, read_record
from benchmarks.damage.claims import DATA, check, levels, order
from benchmarks.damage.data import hierarchy
from benchmarks.damage.figure import draw
from benchmarks.damage.measures import Undamaged
from benchmarks.damage.page import BEGIN, END, results, table, why_forests, with_part
from benchmarks.damage.planted import WITH_TRUTH, damaged_sets, truth
from benchmarks.damage.record import Row, measure_sample
from benchmarks.damage.rule import Trial, chosen, measure_distances, verdicts
from sag_vicreg.errors import InputError
from sag_vicreg.structure import damage, forest_similarity, ward_forest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "benchmarks" / "results" / "damage.json"
FIVE = ("forest", "single", "cka", "rsa", "overlap")


def test_a_hierarchy_is_one() -> None:
    sample = hierarchy(800, 3)
    paths = sample.paths
    assert paths is not None
    assert sample.x.shape == (800, 32)
    for level in range(3):
        for cluster in np.unique(paths[:, level + 1]):
            parents = np.unique(paths[paths[:, level + 1] == cluster, level])
            assert len(parents) == 1
        for cluster in np.unique(paths[:, level]):
            assert 2 <= len(np.unique(paths[paths[:, level] == cluster, level + 1])) <= 4
    assert np.bincount(paths[:, 3]).min() >= 3
    np.testing.assert_array_equal(sample.x, hierarchy(800, 3).x)
    assert not np.array_equal(sample.x, hierarchy(800, 4).x)


def test_items_that_share_more_levels_lie_closer() -> None:
    sample = hierarchy(800, 3)
    assert sample.paths is not None
    shared = (sample.paths[:, None] == sample.paths[None]).sum(axis=2)
    distances = np.linalg.norm(sample.x[:, None] - sample.x[None], axis=2)
    apart = ~np.eye(800, dtype=bool)
    means = [distances[apart & (shared == depth)].mean() for depth in range(5)]
    assert means == sorted(means, reverse=True)


def test_the_truth_is_the_correlation_of_shared_levels() -> None:
    before = hierarchy(500, 0).paths
    assert before is not None
    before = before[::7]
    after = damage.shuffle_rows(before, 0.3, seed=1)

    def shared(paths: np.ndarray, i: int, j: int) -> int:
        depth = 0
        while depth < 4 and paths[i, depth] == paths[j, depth]:
            depth += 1
        return depth

    pairs = list(combinations(range(len(before)), 2))
    one, other = ([shared(paths, i, j) for i, j in pairs] for paths in (before, after))
    assert truth(before, after) == pytest.approx(spearmanr(one, other).statistic)
    assert truth(before, before) == pytest.approx(1)


def test_known_places_follow_the_items() -> None:
    """Where the damage moves an item, the truth puts it: beside the items it now lies with."""
    sample = hierarchy(500, 2)
    assert sample.paths is not None
    places = {tuple(path) for path in sample.paths}
    centres = {
        tuple(path): sample.x[(sample.paths == path).all(axis=1)].mean(axis=0)
        for path in sample.paths
    }
    truths: dict[str, list[float]] = {}
    for each in damaged_sets(sample, 2):
        assert (each.paths is not None) == (each.kind in WITH_TRUTH)
        if each.paths is None:
            continue
        after = each.paths()
        assert {tuple(path) for path in after} <= places
        truths.setdefault(each.kind, []).append(truth(sample.paths, after))
        if each.kind in ("scattered clusters", "merged clusters"):
            vectors = each.make()
            for row in range(0, 500, 23):
                offset = sample.x[row] - centres[tuple(sample.paths[row])]
                np.testing.assert_allclose(vectors[row], centres[tuple(after[row])] + offset)
    assert truths["tightened clusters"] == pytest.approx([1] * 3)
    assert truths["small clusters"][0] == pytest.approx(1)
    for kind in WITH_TRUTH[:4]:
        assert truths[kind] == sorted(truths[kind], reverse=True)
    assert abs(truths["shuffled rows"][-1]) < 0.05


def test_the_quick_score_is_the_metrics_own() -> None:
    x = hierarchy(500, 0).x[::5]
    changed = damage.add_noise(x, 1.0)
    undamaged = Undamaged(x)
    expected = forest_similarity(ward_forest(x, seed=4), ward_forest(changed, seed=4))
    for scales in (False, True):
        found = undamaged.forest(changed, 4, scales=scales)
        assert found.corrected == expected.spearman
        assert found.shared == pytest.approx(expected.shared.spearman, abs=1e-12)
        assert (found.scales is not None) == scales


@pytest.mark.slow
def test_a_sample_is_scored_in_every_declared_way() -> None:
    rows = measure_sample(hierarchy(200, 105))
    assert [(row.kind, row.level) for row in rows] == [
        (each.kind, each.level) for each in damaged_sets(hierarchy(200, 105), 105)
    ]
    for row in rows:
        assert set(row.scores) == {*FIVE, "shared"}
        assert np.isfinite(list(row.scores.values())).all()
    rotated = rows[0].scores
    assert [rotated[each] for each in FIVE] == pytest.approx([1] * 5, abs=0.01)


@pytest.mark.slow
def test_the_rule_scores_every_distance() -> None:
    trials = list(measure_distances(hierarchy(200, 105), 105))
    assert len(trials) == 15
    for trial in trials:
        assert set(trial.scores) == {"size", "level", "order", "height"}
        assert len(set(trial.scores.values())) > 1 or trial.kind == "harmless"


def made_rows() -> list[Row]:
    """Scores with which every claim holds."""
    rows = []
    for data in DATA:
        sample = hierarchy(500, 0)
        for seed in (0, 1):
            seen: dict[str, int] = {}
            for each in damaged_sets(sample, seed):
                if each.kind == "tightened clusters" and data != "drawn":
                    continue
                place = seen[each.kind] = seen.get(each.kind, -1) + 1
                known = each.kind in WITH_TRUTH and data == "drawn"
                fall = 0.0 if each.kind == "tightened clusters" else 0.16 * (place + 1)
                good = 1 - fall
                if (each.kind, each.level) == ("shuffled rows", "100 %"):
                    good = 0.001
                if each.kind == "rotation" or each.level in ("1 %", "8 bits"):
                    good = 0.999
                scores = {
                    "forest": good,
                    # Worse than the forest everywhere, and in no order.
                    "single": 0.5 + 0.1 * (place % 2),
                    "cka": 0.3 + 0.01 * (place % 2),
                    "rsa": 0.3 - 0.01 * (place % 2),
                    "overlap": good - 0.2 - 0.15 * (len(each.kind) % 2),
                }
                scales = {"0.1 %": good - 0.3, "1 %": 0.5, "10 %": 0.6, "50 %": good}
                rows.append(
                    Row(data, each.kind, each.level, seed, good if known else None, scores, scales)
                )
    return rows


def changed(
    rows: list[Row], kind: str, level: str | None, data: str, scores: dict[str, float]
) -> list[Row]:
    return [
        replace(row, scores=row.scores | scores)
        if (row.kind, row.data) == (kind, data) and level in (None, row.level)
        else row
        for row in rows
    ]


def test_claims_hold_where_they_should() -> None:
    assert [claim.key for claim in check(made_rows()) if not claim.held] == []
    assert [claim.key for claim in check(made_rows())] == [
        *("A1", "A2", "B1", "B2", "C1", "C2", "D1", "D2", "D3", "E1", "E2", "F")
    ]


@pytest.mark.parametrize(
    ("broken", "change"),
    [
        ("A1", lambda rows: changed(rows, "rotation", None, "drawn", {"forest": 0.98})),
        ("A1", lambda rows: changed(rows, "quantisation", "8 bits", "digits", {"forest": 1.011})),
        ("A2", lambda rows: changed(rows, "rotation", None, "digits", {"forest": 0.2})),
        ("B1", lambda rows: changed(rows, "shuffled rows", "100 %", "digits", {"forest": -0.03})),
        ("B2", lambda rows: changed(rows, "shuffled rows", "100 %", "digits", {"cka": 0.0})),
        ("C1", lambda rows: changed(rows, "merged clusters", "10 %", "digits", {"forest": 0.3})),
        ("C2", lambda rows: turned(rows, "noise")),
        ("D1", lambda rows: better(rows, "rsa", "shuffled rows", "small clusters")),
        ("D2", lambda rows: better(rows, "cka", "tightened clusters")),
        ("D3", lambda rows: tied(rows, "rsa")),
        ("E1", lambda rows: scaled(rows, "noise", "0.1 %", 0.6)),
        ("E2", lambda rows: scaled(rows, "small clusters", "0.1 %", 0.6)),
        ("F", lambda rows: changed(rows, "small clusters", None, "digits", {"overlap": 1.0})),
    ],
)
def test_each_claim_can_fail(broken: str, change: Callable[[list[Row]], list[Row]]) -> None:
    assert broken in [claim.key for claim in check(change(made_rows())) if not claim.held]


def better(rows: list[Row], measure: str, *kinds: str) -> list[Row]:
    """Make a measure right, and the forest wrong in some kinds."""
    return [
        row
        if row.truth is None
        else replace(
            row,
            scores=row.scores
            | {measure: row.truth}
            | ({"forest": row.truth - 0.35} if row.kind in kinds else {}),
        )
        for row in rows
    ]


def turned(rows: list[Row], kind: str) -> list[Row]:
    """Make the forest's score rise with the damage."""
    return [
        replace(row, scores=row.scores | {"forest": -row.scores["forest"]})
        if row.kind == kind and row.level != "1 %"
        else row
        for row in rows
    ]


def tied(rows: list[Row], measure: str) -> list[Row]:
    """Make a measure order the sets as well as the forest does."""
    return [replace(row, scores=row.scores | {measure: row.scores["forest"] / 2}) for row in rows]


def scaled(rows: list[Row], kind: str, scale: str, value: float) -> list[Row]:
    return [
        replace(row, scales=row.scales | {scale: value})
        if row.kind == kind and row.data == "CIFAR-100" and row.scales
        else row
        for row in rows
    ]


def test_order_counts_pairs_of_one_seed() -> None:
    def row(level: str, seed: int, value: float) -> Row:
        return Row("digits", "noise", level, seed, None, {"forest": value}, None)

    rows = [
        *(row("10 %", 0, 0.9), row("25 %", 0, 0.8), row("50 %", 0, 0.8)),
        # Lower throughout, and the last two the wrong way round.
        *(row("10 %", 1, 0.5), row("25 %", 1, 0.3), row("50 %", 1, 0.4)),
        row("1 %", 0, 0.0),
    ]
    assert levels(rows, "digits", "noise") == ["10 %", "25 %", "50 %"]
    assert order(rows, "digits", "noise", "forest") == pytest.approx((2 + 0.5 + 2) / 6)


def trials(**changes: dict[str, float]) -> list[Trial]:
    """Ten hierarchies in which ``level`` is right and ``size`` is off by 0.05."""
    found = []
    for seed in range(10):
        for known in (0.2, 0.5, 0.8):
            scores = dict.fromkeys(("size", "order", "height"), known + 0.05) | {"level": known}
            found.append(Trial(seed, "shuffled rows", f"{known}", known, scores))
        for kind, known in (("harmless", 1.0), ("unrelated", 0.0)):
            found.append(
                Trial(
                    seed,
                    kind,
                    "",
                    known,
                    dict.fromkeys(("size", "level", "order", "height"), known),
                )
            )
    return [
        replace(trial, scores=trial.scores | changes.get(f"{trial.kind}{trial.seed}", {}))
        for trial in found
    ]


def test_the_rule_takes_what_passes_everything() -> None:
    found = verdicts(trials())
    assert [each.passes for each in found] == [False, True, False, False]
    assert chosen(found) == "level"
    assert found[0].error == pytest.approx(0.05)
    assert found[1].better == 10


@pytest.mark.parametrize(
    "changes",
    [
        # Harmless changes look like damage in one.
        {"harmless3": {"level": 0.985}},
        {"unrelated3": {"level": -0.03}},
    ],
)
def test_the_rule_keeps_size_otherwise(changes: dict[str, dict[str, float]]) -> None:
    assert chosen(verdicts(trials(**changes))) == "size"


def test_the_rule_asks_for_nine_of_ten() -> None:
    for worse, choice in ((1, "level"), (2, "size")):
        mixed = [
            replace(trial, scores=trial.scores | {"level": trial.truth + 0.06})
            if trial.kind == "shuffled rows" and trial.seed < worse
            else trial
            for trial in trials()
        ]
        assert chosen(verdicts(mixed)) == choice


def test_the_rule_asks_for_the_order_too() -> None:
    reversed_by_level = [
        Trial(
            seed,
            "merged clusters",
            "",
            known,
            {**dict.fromkeys(("size", "order", "height"), known + 0.05), "level": 1.04 - known},
        )
        for seed in range(10)
        for known in (0.50, 0.52, 0.54)
    ]
    found = verdicts(reversed_by_level)
    assert found[1].better == 10
    assert found[0].error - found[1].error > 0.02
    assert chosen(found) == "size"


def test_a_gain_below_the_margin_changes_nothing() -> None:
    close = [
        replace(trial, scores=trial.scores | {"level": trial.scores["size"] - 0.019})
        if trial.kind == "shuffled rows"
        else trial
        for trial in trials()
    ]
    assert verdicts(close)[1].better == 10
    assert chosen(verdicts(close)) == "size"


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    record = Record(tuple(made_rows()), tuple(trials()))
    record.write(tmp_path / "record.json")
    again = read_record(tmp_path / "record.json")
    assert results(again) == results(record)
    assert again.rows[5].kind == record.rows[5].kind


@pytest.mark.parametrize(
    ("page", "part"), [("metric-proof.md", results), ("metric.md", why_forests)]
)
def test_the_pages_show_the_recorded_results(page: str, part: Callable[[Record], str]) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert with_part(text, part(read_record(KEPT)), page) == text


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(InputError, match="lacks the lines"):
        with_part("# A page", "part", "page.md")
    assert with_part(f"a\n{BEGIN}\nold\n{END}\nb", "new", "") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"


def test_tables_are_markdown() -> None:
    assert table(["", "x"], [["a", "1"]]) == "|  | x |\n| --- | ---: |\n| a | 1 |"


def test_the_figure_is_drawn_from_the_record(tmp_path: Path) -> None:
    path = tmp_path / "proof.png"
    draw(read_record(KEPT).rows, path)
    assert path.read_bytes().startswith(b"\x89PNG")

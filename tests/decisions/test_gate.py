"""The gate: which outcome, by which rule, with which words."""

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sag_vicreg.decisions import (
    Decision,
    Naming,
    Settings,
    calibrate,
    decision_junit,
    decision_markdown,
    gate,
)
from sag_vicreg.decisions.rule import Rule
from sag_vicreg.errors import InputError
from sag_vicreg.structure import compare
from sag_vicreg.structure.damage import add_noise, quantise, rotate, shuffle_rows

DIGITS = load_digits().data[:600]
QUICK = Settings(trees=20, items=300)
TOLERANT = Rule(0.98, by_interval=True)


@pytest.fixture(scope="module")
def failed() -> Decision:
    return gate(DIGITS, shuffle_rows(DIGITS, 0.3), settings=QUICK, names=("old|v1", "new<2>"))


@pytest.mark.parametrize(
    "harmless",
    [lambda x: quantise(x, 8), lambda x: x.astype(np.float16), lambda x: 3 * rotate(x, seed=1)],
    ids=["int8", "float16", "rotation"],
)
def test_harmless_changes_pass_with_the_default_tolerance(harmless: object) -> None:
    decision = gate(DIGITS, harmless(DIGITS), settings=QUICK)  # type: ignore[operator]
    assert (decision.outcome, decision.exit_code) == ("pass", 0)
    assert decision.threshold == 0.98
    assert decision.tolerance == 0.02


def test_the_score_is_the_one_compare_prints(failed: Decision) -> None:
    whole = gate(DIGITS[:200], DIGITS[:200, ::2], settings=Settings(trees=20))
    expected = compare(DIGITS[:200], DIGITS[:200, ::2], trees=20).forest
    assert expected is not None
    assert whole.similarity.spearman == expected.spearman
    assert failed.similarity.items == 300
    assert "300 items sampled of 600" in failed.basis


def test_shuffled_rows_fail(failed: Decision) -> None:
    assert (failed.outcome, failed.exit_code) == ("fail", 1)
    assert failed.sentence.startswith("FAIL: the structure has changed")


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [((0.981, 0.99), "pass"), ((0.97, 0.979), "fail"), ((0.97, 0.99), "undecided")],
)
def test_the_whole_interval_must_lie_on_one_side(
    failed: Decision, interval: tuple[float, float], outcome: str
) -> None:
    found = replace(failed.similarity, interval=interval, error=0.001)
    assert TOLERANT.outcome(found) == outcome


def test_few_trees_decide_nothing_that_other_trees_might_not_say(failed: Decision) -> None:
    kept = replace(failed.similarity, spearman=0.99, interval=(0.985, 0.995), error=0.004)
    assert TOLERANT.outcome(kept) == "pass", "0.99 - 1.96 x 0.004 is above 0.98"
    for error, words in ((0.006, "± 0.0060"), (math.nan, "an unknown amount")):
        unsure = replace(kept, error=error, trees=4)
        assert TOLERANT.outcome(unsure) == "undecided"
        assert f"would move it by {words} (one standard error): 4 are too few, raise --trees" in (
            TOLERANT.reason(unsure)
        )
        assert TOLERANT.items_needed(unsure) is None
    # Four trees cannot tell their error.
    decision = gate(DIGITS, add_noise(DIGITS, 0.3), settings=Settings(trees=4, items=300))
    assert (decision.outcome, decision.items_needed) == ("undecided", None)


def test_no_number_passes_nothing(failed: Decision) -> None:
    nothing = replace(failed.similarity, spearman=np.nan, interval=(np.nan, np.nan))
    assert TOLERANT.outcome(nothing) == "undecided"
    assert Rule(0.98, by_interval=False).outcome(nothing) == "undecided"
    assert TOLERANT.items_needed(nothing) is None


def test_unrelated_noise_of_no_structure_is_not_passed() -> None:
    rng = np.random.default_rng(0)
    decision = gate(rng.normal(size=(60, 40)), rng.normal(size=(60, 40)), settings=QUICK)
    assert decision.outcome != "pass"


def test_undecided_says_how_many_items_would_decide(failed: Decision) -> None:
    close = replace(
        failed.similarity, spearman=0.985, interval=(0.975, 0.995), error=0.001, items=1000
    )
    # Half the width is 0.01 and the distance 0.005: four times the items, and a tenth to be safe.
    assert TOLERANT.items_needed(close) == 4400
    assert "about 4,400 items would decide: raise --items" in TOLERANT.reason(
        replace(close, n=9000)
    )
    assert "4,400 items would decide and there are 2,000" in TOLERANT.reason(replace(close, n=2000))
    assert TOLERANT.items_needed(replace(close, spearman=0.98)) is None
    assert "too close for any number" in TOLERANT.reason(replace(close, spearman=0.98))


def test_a_pass_that_lost_its_fine_structure_says_so() -> None:
    decision = gate(DIGITS, add_noise(DIGITS, 0.6), tolerance=0.2, settings=QUICK)
    assert decision.outcome == "pass"
    assert "Fine structure has changed" in decision.caution


def test_a_floor_decides_by_the_score_alone() -> None:
    seeds = [add_noise(DIGITS, 0.8, seed=seed) for seed in range(5)]
    floor = calibrate(seeds[:4], settings=QUICK)
    inside = gate(seeds[0], seeds[4], floor=floor)
    assert inside.limit is not None
    assert inside.limit.comparisons == 3
    assert inside.threshold == min(floor.scores[:3])
    expected = "pass" if inside.similarity.spearman >= inside.threshold else "fail"
    assert inside.outcome == expected
    assert inside.tolerance is None
    assert gate(seeds[0], shuffle_rows(seeds[4], 0.5), floor=floor).outcome == "fail"


def test_bad_input_is_refused_in_one_line() -> None:
    floor = calibrate([DIGITS, DIGITS + 1], settings=QUICK)
    cases = {
        "two rules": lambda: gate(DIGITS, DIGITS, tolerance=0.1, floor=floor),
        "between 0 and 1": lambda: gate(DIGITS, DIGITS, tolerance=0.0),
        "at least 50": lambda: gate(DIGITS[:40], DIGITS[:40]),
        "600 rows and new has 599": lambda: gate(DIGITS, DIGITS[1:]),
        "made with trees 20": lambda: gate(
            DIGITS, DIGITS, floor=floor, settings=replace(QUICK, trees=40)
        ),
        "calibrate anew with --items 100": lambda: gate(DIGITS[:100], DIGITS[:100], floor=floor),
        "unknown geometry": lambda: Settings(geometry="cosin"),
        "multiple of 4": lambda: Settings(trees=10),
    }
    for words, case in cases.items():
        with pytest.raises(InputError, match=words):
            case()


def test_the_formats_say_what_the_decision_says(failed: Decision, tmp_path: Path) -> None:
    markdown = decision_markdown(failed)
    assert markdown.startswith("### FAIL: ")
    assert "| linear CKA |" in markdown
    hostile = decision_markdown(failed, ["i_1 “![x](https://a.example) `a` <img src=x> *b* | c”"])
    escaped = "- i\\_1 “!\\[x\\](https://a.example) \\`a\\` &lt;img src=x> \\*b\\* \\| c”"
    assert hostile.splitlines()[-1] == escaped
    suite = ElementTree.fromstring(decision_junit(failed))
    assert suite.attrib["failures"] == "1"
    assert suite.attrib["errors"] == "0"
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == failed.sentence
    passed = ElementTree.fromstring(decision_junit(replace(failed, outcome="pass")))
    assert passed.find("testcase/failure") is None
    assert passed.attrib["failures"] == "0"
    open_ = ElementTree.fromstring(decision_junit(replace(failed, outcome="undecided")))
    assert open_.attrib["errors"] == "1"
    assert open_.find("testcase/error") is not None
    assert "<strong" in failed._repr_html_()
    assert failed.reason in failed._repr_html_()


def test_an_item_keeps_the_spaces_of_its_id() -> None:
    ids = ["a ", "b"]
    assert [Naming(ids).item(row) for row in (0, 1)] == ids
    assert Naming(ids, texts=["", "about b"]).item(0) == "a "
    assert Naming(ids, texts=["", "about b"]).item(1) == "b “about b”"

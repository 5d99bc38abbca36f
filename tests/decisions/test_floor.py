"""Floors: what they claim, and that the claim holds."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.decisions import Floor, Settings, calibrate, gate
from sag_vicreg.decisions.floor import fingerprint
from sag_vicreg.errors import InputError
from sag_vicreg.structure.corrected import corrected_similarity

RNG = np.random.default_rng(0)
BASE = np.repeat(2 * RNG.normal(size=(6, 5)), 12, axis=0) + RNG.normal(size=(72, 5))
QUICK = Settings(trees=8)


def seeds(count: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [BASE + 0.5 * rng.normal(size=BASE.shape) for _ in range(count)]


def test_every_two_sets_are_compared() -> None:
    sets = seeds(4)
    floor = calibrate(sets, settings=QUICK)
    expected = [corrected_similarity(a, b, trees=8) for a, b in combinations(sets, 2)]
    assert floor.scores == pytest.approx(expected)
    assert floor.items == 72


def test_a_known_old_goes_by_its_own_comparisons() -> None:
    sets = seeds(4)
    floor = calibrate(sets, settings=QUICK)
    pairs = list(combinations(range(4), 2))
    for place, each in enumerate(sets):
        limit = floor.limit(each[::-1])  # in any order of rows
        own = [s for pair, s in zip(pairs, floor.scores, strict=True) if place in pair]
        assert (limit.score, limit.comparisons, limit.false_alarms) == (min(own), 3, 1 / 4)
    stranger = floor.limit(BASE)
    assert (stranger.score, stranger.comparisons) == (min(floor.scores), 6)
    assert stranger.false_alarms == 2 / 6


def test_a_set_of_the_floor_is_not_judged_by_its_own_scores() -> None:
    """It would set the floor itself, and never fall below it."""
    sets = [*seeds(3), BASE[::-1]]
    floor = calibrate(sets, settings=QUICK)
    pairs = dict(zip(combinations(range(4), 2), floor.scores, strict=True))
    limit = floor.limit(sets[0], sets[3])
    assert (limit.score, limit.comparisons) == (min(pairs[0, 1], pairs[0, 2]), 2)
    assert limit.false_alarms == 1 / 3
    stranger = floor.limit(2 * BASE, sets[3])
    assert (stranger.score, stranger.comparisons) == (min(pairs[0, 1], pairs[0, 2], pairs[1, 2]), 3)
    assert stranger.false_alarms == 2 / 5
    assert gate(sets[0], sets[3], floor=floor).outcome == "fail"
    assert floor.limit(sets[0], sets[0]) == floor.limit(sets[0])
    with pytest.raises(InputError, match="calibrate without it"):
        calibrate(sets[2:], settings=QUICK).limit(sets[2], sets[3])


def test_five_percent_is_claimed_from_nineteen_comparisons_on() -> None:
    def floor(sets: int) -> Floor:
        prints = tuple(fingerprint(BASE[: sets + k]) for k in range(sets))
        return Floor(QUICK, 72, prints, prints, (0.9,) * (sets * (sets - 1) // 2))

    few, enough = (floor(sets).limit(BASE[:sets]) for sets in (19, 20))
    assert few.comparisons == 18
    assert "more sets are needed" in few.sentence()
    assert enough.comparisons == 19
    assert "more sets" not in enough.sentence()


@pytest.mark.parametrize("known", [True, False], ids=["OLD in the floor", "OLD is new"])
def test_no_more_false_alarms_than_claimed(known: bool) -> None:
    rounds, sets, alarms = 40, 4, 0
    for round_ in range(rounds):
        drawn = seeds(sets + 2, seed=round_)
        floor = calibrate(drawn[:sets], settings=QUICK)
        old, new = (drawn[0] if known else drawn[-2]), drawn[-1]
        alarms += corrected_similarity(old, new, trees=8) < floor.limit(old).score
    claimed = 1 / sets if known else 2 / (sets + 2)
    # Two deviations of a coin with the claimed chance.
    assert alarms / rounds <= claimed + 2 * (claimed * (1 - claimed) / rounds) ** 0.5
    assert alarms > 0


def test_a_floor_survives_its_file(tmp_path: Path) -> None:
    floor = calibrate(seeds(3), settings=QUICK, names=["a", "b", "c"])
    floor.write(tmp_path / "floor.json")
    assert Floor.read(tmp_path / "floor.json") == floor


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"settings": {}, "items": 5, "names": ["a"], "fingerprints": ["x"], "scores": []}',
        '{"settings": {"trees": 7}, "items": 5, "names": ["a", "b"], "fingerprints": ["x", "y"],'
        ' "scores": [1.0]}',
        '{"settings": {}, "items": 5, "names": ["a", "b"], "fingerprints": ["x", "y"],'
        ' "scores": [NaN]}',
    ],
)
def test_anything_else_is_not_a_floor(tmp_path: Path, content: str) -> None:
    (tmp_path / "floor.json").write_text(content)
    with pytest.raises(InputError, match=r"floor\.json.*(sag-vicreg calibrate|not a number)"):
        Floor.read(tmp_path / "floor.json")


def test_a_missing_floor_and_one_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        Floor.read(tmp_path / "none.json")
    with pytest.raises(InputError, match="at least two"):
        calibrate([BASE])


def test_a_fingerprint_knows_values_not_order_or_precision() -> None:
    half = BASE.astype(np.float16)
    assert fingerprint(half) == fingerprint(half.astype(np.float64)[::-1])
    assert fingerprint(half) != fingerprint(BASE)
    assert fingerprint(np.zeros((3, 2))) == fingerprint(-np.zeros((3, 2)))

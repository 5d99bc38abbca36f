"""The vocabulary of scores: every score is in it, and one reader reads every file of results."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from sag_vicreg import scores
from sag_vicreg.artifacts import ScoreFile, read_result, read_scores, write_json
from sag_vicreg.errors import InputError
from sag_vicreg.scores import MEASURES, Score, Spread, averages, best, measure_of, places
from sag_vicreg.structure import compare, context, neighborhood

PUBLISHED = Path(__file__).parents[1] / "replication" / "results"


def test_every_score_of_a_comparison_is_in_the_vocabulary() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(80, 6))
    found = compare(a, a + 0.3 * rng.normal(size=a.shape), trees=8, half_samples=2)
    flat = found.flat()
    assert [measure_of(key).key for key in flat] == list(flat)
    assert tuple(found.half_samples.flat()) == scores.PAPERS_FIVE
    assert flat[scores.FOREST] == found.forest.spearman
    for key in scores.PAPERS_FIVE:
        part, name = key.split(".")
        assert flat[key] == getattr(getattr(found, part), name)
        spread = found.half_samples.flat()[key]
        assert spread.mean == getattr(getattr(found.half_samples.mean, part), name)
        assert spread.deviation == getattr(getattr(found.half_samples.deviation, part), name)
    others = {**asdict(context(*found.trees)), **asdict(neighborhood(*found.trees))}
    assert {"cka", "rsa", "entanglement", "fowlkes_mallows"} <= MEASURES.keys() & others.keys()


def test_every_published_score_is_in_the_vocabulary_and_read_by_the_one_reader() -> None:
    files = sorted(PUBLISHED.glob("*.json"))
    assert len(files) > 50
    for path in files:
        result = read_result(path)
        assert result.format == 1
        for key in {**result.scores, **result.half_samples}:
            assert measure_of(key).title


def test_titles_and_keys_are_unique() -> None:
    for style in ("title", "short"):
        names = [getattr(each, style) for each in MEASURES.values()]
        assert len(set(names)) == len(names)
    assert list(MEASURES) == [each.key for each in MEASURES.values()]


def test_a_file_of_a_later_format_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    written = ScoreFile(
        kind="evaluation",
        method="ours",
        images={"test": "a.parquet"},
        options={"knn": {"k": 20}},
        n_images=4,
        scores={"knn.level1": 0.5},
        deviations={"probe.level1": 0.1},
    )
    path = tmp_path / "results.json"
    write_json(path, asdict(written))
    assert read_scores(path) == written
    content = json.loads(path.read_text())
    assert content.keys() >= {"scores", "options"}
    path.write_text(json.dumps(content | {"format": 2}))
    with pytest.raises(InputError, match="format 2, and this version of sag-vicreg reads up to 1"):
        read_scores(path)
    path.write_text(json.dumps(content | {"scores": {"knn.level1": "high"}}))
    with pytest.raises(InputError, match=r"not a result of `evaluate` \(scores.knn.level1: "):
        read_scores(path)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"not a result of `reproduce` \(key: "):
        read_result(path)


def test_places_are_in_order_of_number_and_of_one_measure() -> None:
    keys = ["rand.clusters100", "rand.clusters20", "ari.clusters5", "rand.level1"]
    assert places(keys, "rand", "clusters") == {20: keys[1], 100: keys[0]}
    assert places(keys, "knn", "level") == {}
    shares = [scores.at_closest(share) for share in (0.1, 0.001)]
    assert list(scores.closest(shares).items()) == [(0.1, shares[1]), (10.0, shares[0])]


def test_the_best_follows_the_direction_of_the_score() -> None:
    values = {"a": 0.5, "b": 0.5004, "c": 0.1}
    assert best(values, "knn.level1") == {"b"}
    assert best(values, "knn.level1", digits=3) == {"a", "b"}
    assert best(values, "entanglement") == {"c"}
    assert best(values, "label_free.rankme") == set()
    assert best({}, "knn.level1") == set()


def test_averages_are_numpys_over_the_scores_that_all_seeds_have() -> None:
    seeds = [{"a": 0.1, "b": 1.0}, {"a": 0.4}, {"a": 0.9, "b": 2.0}]
    found = averages(seeds)
    assert found.keys() == {"a"}
    assert found["a"].mean == pytest.approx(np.mean([0.1, 0.4, 0.9]))
    assert found["a"].deviation == pytest.approx(np.std([0.1, 0.4, 0.9], ddof=1))
    assert averages([{"a": 0.1}])["a"] == Score(0.1, None, 1)


@pytest.mark.parametrize(("score", "unstable"), [(0.5, False), (0.551, True), (0.449, True)])
def test_halves_unsettle_a_score_they_do_not_agree_with(score: float, unstable: bool) -> None:
    assert Spread(0.5, 0.01).unsettles(score) is unstable
    assert Spread(0.5, 0.051).unsettles(score)

"""Content addresses are for ever: what was published, and what a study under way has planned.

``keys.json`` was written by the code that started the study. A key that changes makes finished
trainings strangers: mend the code, not the file.
"""

import json
from pathlib import Path

import pytest

from made_study import finish_search
from replication.contenders import TRAINABLE, plan, trials
from replication.measured import is_rejected
from replication.stages import STAGES
from sag_vicreg.artifacts import Result, read_results
from sag_vicreg.reproduce.plan import Evaluation, evaluation_of, no_overrides

PUBLISHED = Path(__file__).parents[2] / "replication/results"
FROZEN = json.loads((Path(__file__).parent / "keys.json").read_text(encoding="utf-8"))
# Every length of training that the study screens, confirms or draws a curve of.
LENGTHS = {
    100: (10, 11),
    300: (10, 11),
    1_000: (10, 11),
    3_000: (0, 1, 2, 3, 4),
    10_000: (0, 1, 2),
}


def keys(evaluations: list[Evaluation]) -> str:
    return " ".join(evaluation.key for evaluation in evaluations)


@pytest.mark.parametrize("stage", FROZEN["stages"])
def test_a_stage_before_its_search_has_the_keys_it_had(stage: str) -> None:
    assert keys(STAGES[stage].evaluations(no_overrides)) == FROZEN["stages"][stage]


@pytest.mark.parametrize("name", FROZEN["study"])
def test_a_contender_has_the_keys_it_had(name: str) -> None:
    results: dict[str, Result] = {}
    finish_search(name, results)
    planned = {
        f"{steps} steps, seed {seed}": plan(name, seed, results, steps=steps)
        for steps, seeds in LENGTHS.items()
        for seed in seeds
    }
    found = {which: keys(each.evaluations(test=True)) for which, each in planned.items()}
    assert {"search": keys(trials(name)), **found} == FROZEN["study"][name]


def test_no_stage_and_no_contender_is_unfrozen() -> None:
    assert set(STAGES) == set(FROZEN["stages"])
    assert set(TRAINABLE) == set(FROZEN["study"])


def test_every_published_result_lies_at_its_own_address() -> None:
    published = read_results([PUBLISHED])
    ours = [result for result in published.values() if not is_rejected(result)]
    assert ours
    for result in ours:
        again = evaluation_of(result)
        assert (again.key, again.family) == (result.key, result.family), result.file_name

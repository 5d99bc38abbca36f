"""The replication's plan, from invented results: the search, the rate it chooses, the stages."""

import contextlib
from pathlib import Path

from made_replication import even_result, search_results
from replication.contenders import CONTENDERS, TRAINABLE, plan, trials
from replication.measured import is_rejected
from replication.stages import ABLATIONS, DEFAULT, METHODS, STAGES, halves, stage_states
from sag_vicreg.artifacts import Result, read_results
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce import Choices, Evaluation, Store, request_table
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.plan import evaluation_of, model_label
from sag_vicreg.reproduce.search import RATES, chosen_rate, search_evaluations, tuned_by


def test_the_search_gives_every_method_the_same_rates_and_budget() -> None:
    trials = search_evaluations("cifar100", METHODS)
    by_method: dict[str, set[tuple[float, int | None]]] = {}
    for trial in trials:
        (recipe,) = trial.recipes
        by_method.setdefault(trial.method, set()).add(
            (recipe.optimizer.base_lr, recipe.schedule.steps)
        )
        assert trial.images.split == "train"
    assert len(set(map(frozenset, by_method.values()))) == 1
    assert by_method["simclr"] == {(rate, 300) for rate in RATES}


def test_the_rate_is_chosen_only_when_every_trial_has_ended() -> None:
    results = search_results(best=4.0)
    assert chosen_rate("cifar100", "vicreg", results) == 4.0
    results.pop(
        next(t.key for t in search_evaluations("cifar100", METHODS) if t.method == "vicreg")
    )
    assert chosen_rate("cifar100", "vicreg", results) is None
    assert chosen_rate("cifar100", "simclr", results) == 4.0


def test_a_trial_that_diverged_is_not_chosen() -> None:
    results = search_results(best=4.0)
    for trial in search_evaluations("cifar100", METHODS):
        if trial.recipes[0].optimizer.base_lr == 4.0:
            results[trial.key] = even_result(trial, 0.0, failure="the loss is nan at step 9")
    assert chosen_rate("cifar100", "vicreg", results) in (0.4, 1.3)


def test_what_follows_the_search_takes_its_rates() -> None:
    tuned = tuned_by(search_results(best=0.4))
    (recipe, other) = halves(tuned, steps=1000)[0].recipes
    assert recipe.optimizer.base_lr == 0.4
    assert (recipe.dataset.classes, other.dataset.classes) == ("first", "second")
    assert tuned_by({})("cifar100", "vicreg") == ()


def test_stages_share_what_they_can_and_ablate_one_factor_at_a_time() -> None:
    tuned = tuned_by(search_results())
    tables = {e.key for e in STAGES["halves"].evaluations(tuned)}
    ablations = STAGES["ablation"].evaluations(tuned)
    # The unchanged recipe is stage 2's own SAG-VICReg: nothing is trained twice.
    assert len({e.key for e in ablations} - tables) == 3 * (len(ABLATIONS) - 1)
    base = next(e for e in ablations if e.key in tables and e.seed == 0).recipes[0]
    for planned in ablations:
        changed = planned.recipes[0].model_dump()
        plain = base.model_dump()
        different = [
            key
            for key in (*plain["method"], "batch_size")
            if changed["method"].get(key, changed.get(key))
            != plain["method"].get(key, plain.get(key))
        ]
        assert len(different) == (0 if planned.key in tables else 1), different


def test_published_results_count_as_done_for_the_tables(tmp_path: Path) -> None:
    results = search_results(methods=(*METHODS, DEFAULT))
    tuned = tuned_by(results)
    for planned in [*STAGES["halves"].evaluations(tuned), *STAGES["default"].evaluations(tuned)]:
        results[planned.key] = even_result(planned, 0.3)
    for result in results.values():
        result.write(tmp_path)
    known = Store(tmp_path / "empty", (tmp_path,)).results()
    request = request_table("table1", Choices(scale="cpu", seeds=3), known)
    assert all(e.key in known for e in request.evaluations)
    (table,) = request.tables(known)
    assert "Unfinished" not in " ".join(table.notes)


def test_labels_say_which_model() -> None:
    (first, second) = halves(tuned_by({}), steps=1000)[0].recipes
    assert model_label(first) == "cifar100/vicreg (first half) seed 0"
    assert model_label(second) == "cifar100/vicreg (second half) seed 0"


def test_every_published_result_is_found_again() -> None:
    """Its key follows from the recipes it holds: what came later must not change an old address."""
    published = read_results([Path(__file__).parents[2] / "replication/results"])
    assert len(published) >= 70
    buildable = {k: r for k, r in published.items() if not is_rejected(r)}
    for key, result in buildable.items():
        # With the forest of today, which is beside the address, and without any.
        for options in (result.options, evaluation_of(result).options):
            planned = Evaluation(
                result.kind,
                result.method,
                result.seed,
                tuple(Recipe.model_validate(model) for model in result.models),
                ImageSet(**result.images),
                options,
            )
            assert planned.key == key, result.file_name
            assert planned.family == result.family
    # And from the packaged recipes: nothing of the replication or the study is trained again.
    planned_keys = {e.key for state in stage_states(published) for e in state.evaluations}
    planned_keys |= {trial.key for name in TRAINABLE for trial in trials(name)}
    for result in buildable.values():
        if result.key not in planned_keys:
            planned_keys |= study_keys(result, published)
    assert planned_keys >= buildable.keys()


def study_keys(result: Result, published: dict[str, Result]) -> set[str]:
    """What the study plans of models of this seed and length."""
    steps = int(result.models[0]["schedule"]["steps"])
    keys = set()
    for name in TRAINABLE:
        if CONTENDERS[name].method == result.method:
            with contextlib.suppress(InputError):  # its search is unfinished
                planned = plan(name, result.seed, published, steps=steps)
                keys |= {e.key for e in planned.evaluations(test=True)}
    return keys

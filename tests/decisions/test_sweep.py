"""Sweeps, self-tests, and the gate in other people's tests."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from typer.testing import CliRunner

from sag_vicreg.artifacts import read_embeddings
from sag_vicreg.cli import app
from sag_vicreg.decisions import (
    Settings,
    Sweep,
    assert_same_structure,
    decide,
    selftest,
    structure_scorer,
    sweep,
)
from sag_vicreg.errors import InputError
from sag_vicreg.structure.corrected import corrected_similarity
from sag_vicreg.structure.damage import shuffle_rows

RNG = np.random.default_rng(0)
CENTRES = 3 * RNG.normal(size=(6, 4)) @ RNG.normal(size=(4, 16))
SET = CENTRES[np.arange(120) % 6] + 0.5 * RNG.normal(size=(120, 16))
QUICK = Settings(trees=8)
WIDE = {"COLUMNS": "120"}


@pytest.fixture(scope="module")
def swept() -> Sweep:
    return sweep(SET, dims=[4, 8], precisions=["float32", "int8", "binary"], settings=QUICK)


def test_every_way_is_tried_and_the_cheapest_that_passes_is_chosen(swept: Sweep) -> None:
    found = swept
    assert len(found.candidates) == 5 * 3
    assert [each.bytes for each in found.candidates] == sorted(e.bytes for e in found.candidates)
    passed = [each for each in found.candidates if each.decision.outcome == "pass"]
    assert found.chosen is passed[0]
    sizes = {(e.reduction, e.dims, e.precision): e.bytes for e in found.candidates}
    assert sizes["full", 16, "float32"] == 64
    assert sizes["pca", 4, "int8"] == 4
    assert sizes["truncation", 8, "binary"] == 1


def test_each_way_is_gated_against_the_full_set(swept: Sweep) -> None:
    full = QUICK.grow(SET, "full")
    for each in swept.candidates:
        if (each.reduction, each.precision) == ("truncation", "float32"):
            expected = decide(full, QUICK.grow(SET[:, : each.dims], "x"), settings=QUICK)
            assert each.decision.similarity.spearman == expected.similarity.spearman


def test_pca_keeps_inner_products_as_the_svd_does(swept: Sweep) -> None:
    u, s, _ = np.linalg.svd(SET, full_matrices=False)
    best = u[:, :4] * s[:4]
    expected = corrected_similarity(SET, best, trees=8)
    found = next(
        each
        for each in swept.candidates
        if (each.reduction, each.dims, each.precision) == ("pca", 4, "float32")
    )
    assert found.decision.similarity.spearman == pytest.approx(expected, abs=1e-3)


def test_recall_is_that_of_a_plain_search(swept: Sweep) -> None:
    def nearest(x: np.ndarray) -> np.ndarray:
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -2)
        return np.argsort(-cosines, axis=1)[:, :10]

    true, cut = nearest(SET), nearest(SET[:, :4])
    expected = np.mean([np.isin(a, b).mean() for a, b in zip(true, cut, strict=True)])
    found = next(
        each
        for each in swept.candidates
        if (each.reduction, each.dims, each.precision) == ("truncation", 4, "float32")
    )
    assert found.recall == pytest.approx(expected, abs=2e-3)


def test_ways_that_leave_nothing_are_left_out() -> None:
    x = np.concatenate([np.zeros((120, 2)), SET], axis=1)
    found = sweep(x, dims=[2], precisions=["float16"], settings=QUICK)
    assert len(found.left_out) == 1
    assert "2 dimensions, float16 by truncation" in found.left_out[0]
    assert {each.reduction for each in found.candidates} == {"full", "pca"}


def test_a_sweep_shows_and_describes_itself(swept: Sweep) -> None:
    assert swept.chosen.name in swept.sentence()
    assert swept.sentence() in swept._repr_html_()
    assert swept.to_dict()["chosen"]["bytes"] == swept.chosen.bytes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dims": [16]}, "give 1 to 15"),
        ({"precisions": ["int4"]}, "unknown precision"),
        ({"precisions": []}, "no precision"),
        # Below a threshold of -1 nothing could fail.
        ({"precisions": ["int8"], "tolerance": 2.0, "settings": QUICK}, "between 0 and 1"),
    ],
)
def test_ways_that_cannot_be_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sweep(SET, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_numbers_that_no_precision_reaches_are_refused(scale: float) -> None:
    for decide_on in (sweep, selftest):
        with pytest.raises(InputError, match="multiply all vectors by one number"):
            decide_on(SET * scale, settings=QUICK, name="far")
    with pytest.raises(InputError, match="1 dimension, and there are no fewer"):
        sweep(SET[:, :1], dims=[1], settings=Settings(trees=8, geometry="euclidean"))


def test_sweep_writes_what_it_chose(tmp_path: Path) -> None:
    ids = np.array([f"item-{row}" for row in range(120)])
    np.savez(tmp_path / "full.npz", vectors=SET, ids=ids)
    options = ["--trees", "8", "--precision", "float16,int8", "--plot", str(tmp_path / "s.svg")]
    command = [
        "sweep",
        str(tmp_path / "full.npz"),
        *options,
        "--write",
        str(tmp_path / "small.npz"),
    ]
    done = CliRunner().invoke(app, command, env=WIDE)
    assert done.exit_code == 0
    assert "The cheapest that passes: 16 dimensions, int8" in done.stdout
    written = read_embeddings(tmp_path / "small.npz")
    assert written.ids is not None
    assert (written.ids == ids).all()
    assert np.abs(written.vectors).max() == 127
    assert corrected_similarity(SET, written.vectors, trees=8) > 0.99
    assert (tmp_path / "s.svg").stat().st_size > 1000
    for dims in ("a,b", "-4", "1_6"):
        refused = CliRunner().invoke(app, ["sweep", str(tmp_path / "full.npz"), f"--dims={dims}"])
        assert refused.exit_code == 2
        assert "whole numbers with commas" in refused.stderr


def test_the_selftest_passes_rotations_and_catches_the_rest_by_degree() -> None:
    found = selftest(SET, settings=QUICK)
    changes = {}
    for each in found.planted:
        changes.setdefault(each.change, []).append(each.decision)
    assert [each.outcome for each in changes["rotation"]] == ["pass"]
    for change in ("noise", "rows shuffled"):
        assert changes[change][0].outcome != "fail"
        assert changes[change][-1].outcome == "fail"
    assert changes["quantisation"][0].outcome == "pass"
    assert changes["one cluster scattered"][-1].outcome == "fail"
    assert [each.size for each in found.planted if each.change == "projection"] == [
        "to 8",
        "to 4",
    ]
    assert len(found.to_dict()["planted"]) == len(found.planted)


def test_selftest_prints_its_table(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", SET)
    few = ["--trees", "8", "--items", "60"]
    done = CliRunner().invoke(app, ["selftest", str(tmp_path / "x.npy"), *few], env=WIDE)
    assert done.exit_code == 0
    assert "one cluster scattered" in done.stdout
    assert "60 items, 8 trees, tolerance 0.02" in done.stdout


def test_assert_same_structure_says_what_moved() -> None:
    assert_same_structure(SET, 2 * SET, settings=QUICK)
    ids = [f"item-{row}" for row in range(120)]
    with pytest.raises(AssertionError, match=r"FAIL: .*\nWhat moved: .*\n(.*\n)*.*item-") as caught:
        assert_same_structure(SET, shuffle_rows(SET, 0.3), settings=QUICK, ids=ids)
    assert "was near item-" in str(caught.value)


def test_undecided_is_not_the_same() -> None:
    noise = RNG.normal(size=(60, 30))
    with pytest.raises(AssertionError, match=r"UNDECIDED|FAIL"):
        assert_same_structure(noise, RNG.normal(size=(60, 30)), settings=QUICK)


def test_the_scorer_drives_a_search() -> None:
    search = GridSearchCV(
        PCA(), {"n_components": [1, 4]}, scoring=structure_scorer(lambda x: x, settings=QUICK), cv=2
    )
    search.fit(SET)
    assert search.best_params_ == {"n_components": 4}
    model = PCA(4).fit(SET)
    expected = corrected_similarity(SET, model.transform(SET), trees=8)
    assert structure_scorer(SET, settings=QUICK)(model, SET) == pytest.approx(expected)
    with pytest.raises(InputError, match="give a function from X"):
        structure_scorer(SET, settings=QUICK)(model, SET[:60])

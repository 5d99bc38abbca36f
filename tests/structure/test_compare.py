"""`compare`: what it accepts, what it refuses, and the honesty of its p-values."""

import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kstest

from sag_vicreg import machine
from sag_vicreg.artifacts import Embeddings
from sag_vicreg.errors import InputError
from sag_vicreg.structure import (
    GEOMETRIES,
    CopheneticSimilarity,
    LCASimilarity,
    ScaleSimilarity,
    Scores,
    compare,
    compare_all,
    memory,
    verdict,
    ward_tree,
)

Floats = npt.NDArray[np.float64]
# The paper's five numbers alone; forests have tests of their own.
five = partial(compare, trees=0)
RNG = np.random.default_rng(0)
A = RNG.normal(size=(60, 8))
B = A @ RNG.normal(size=(8, 5)) + 0.5 * RNG.normal(size=(60, 5))


def test_lists_tensors_and_float_types_are_the_same_to_it() -> None:
    torch = pytest.importorskip("torch")
    expected = five(A, B).values()
    np.testing.assert_array_equal(five(A.tolist(), B.tolist()).values(), expected)
    tensor = torch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(five(tensor, torch.tensor(B)).values(), expected)
    np.testing.assert_allclose(five(A.astype("f4"), B).values(), expected, atol=0.02)
    half = five(A.astype("f2"), B.astype("f4"))
    brain = five(torch.tensor(A).to(torch.bfloat16), B)
    assert min(half.lca.pearson, brain.lca.pearson) > 0


def test_the_result_says_what_was_done() -> None:
    s = compare(A, B, geometry="spherical", lca="path")
    assert (s.geometry, s.lca_distance, s.n, s.ties) == ("spherical", "path", 60, (0, 0))
    assert s.dimensions == (8, 5)
    assert s.forest is not None
    assert (s.forest.n, s.forest.leaves, s.forest.trees) == (60, 30, 100)
    written = s.to_dict()
    assert written["forest"]["spearman"] == s.forest.spearman
    assert json.dumps(written, allow_nan=False)
    assert written["lca"]["pearson"] == s.lca.pearson
    assert written["cophenetic"]["d2_to_p1"] == s.cophenetic.d2_to_p1
    assert written["p_values"] is None
    assert s.seconds > 0
    assert "Tree" not in repr(s)


BAD: list[tuple[Any, Any, dict[str, Any], str]] = [
    (A, B[:-1], {}, "a has 60 rows and b has 59"),
    (A[:2], B[:2], {}, "a has 2 rows: a tree needs at least 3"),
    (A[:, :0], B, {}, "a has no columns"),
    (A[0], B, {}, r"a has shape \(8,\): expected two axes"),
    (A[None], B, {}, r"shape \(1, 60, 8\)"),
    (np.where(np.arange(60)[:, None] == 7, np.nan, A), B, {}, "a: row 7 holds NaN"),
    (A, np.where(np.arange(60)[:, None] == 9, np.inf, B), {}, "b: row 9 holds NaN or infinity"),
    (A * (np.arange(60)[:, None] != 4), B, {}, "a: row 4 is a zero vector"),
    (A, np.ones((60, 3)), {}, "b is constant: all 60 rows"),
    (A, np.arange(1, 61)[:, None] * np.ones((60, 3)), {}, "b is constant"),
    (A, np.ones((60, 3)), {"geometry": "euclidean"}, "b is constant"),
    (A, np.eye(60), {}, "pairwise distances are equal"),
    (A.astype(object), B, {}, "dtype object"),
    (A.astype(complex), B, {}, "dtype complex128"),
    ([["x"]], B, {}, "dtype <U1"),
    ([[1.0, 2.0], [3.0]], B, {}, "rows differ in length"),
    (A, B, {"geometry": "cosin"}, "did you mean 'cosine'. Valid: cosine, spherical, euclidean"),
    (A, B, {"lca": "depth"}, "unknown LCA distance 'depth': .*Valid: level, path, order, height"),
    (A, B, {"permutations": -1}, "permutations is -1"),
    (A, B, {"seed": -1}, "seed is -1"),
    (A, B, {"half_samples": 1}, "a spread needs at least 2"),
    (Embeddings(A), B, {}, "artifacts.join"),
    (
        np.where(np.arange(60)[:, None] == 0, A, A[1]),
        B,
        {"half_samples": 8},
        "half-sample . of 8: .* leave half-samples out",
    ),
    (A[:5], B[:5], {"half_samples": 3}, "half-samples need at least 6"),
]


@pytest.mark.parametrize(("a", "b", "options", "message"), BAD)
def test_bad_input_is_one_line(a: Any, b: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        compare(a, b, **options)
    assert "\n" not in str(caught.value)


def test_zero_vectors_are_points_in_euclidean_geometry() -> None:
    assert five(A * (np.arange(60)[:, None] != 4), B, geometry="euclidean").n == 60


def test_a_distance_matrix_is_warned_about() -> None:
    distances = np.linalg.norm(A[:, None] - A[None], axis=2)
    with pytest.warns(UserWarning, match="looks like a distance matrix"):
        five(distances, B)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        five(A[:8], B[:8])  # square, but no distances


def test_what_cannot_fit_is_refused_with_the_geometry_that_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 20_000_000)
    x = np.random.default_rng(1).normal(size=(3000, 4))
    with pytest.raises(InputError, match=r"need about 38 MB .*'spherical' needs about"):
        ward_tree(x)
    assert ward_tree(x, geometry="spherical").n == 3000
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)
    with pytest.raises(InputError, match="take fewer rows"):
        five(x, x, geometry="euclidean")


def test_a_container_has_what_its_limit_leaves_and_files_it_may_forget(tmp_path: Path) -> None:
    unlimited = machine.available_bytes(tmp_path)
    (tmp_path / "memory.current").write_text("90000000\n")
    (tmp_path / "memory.stat").write_text("anon 9\ninactive_file 40000000\nactive_file 10000000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert unlimited is None or machine.available_bytes(tmp_path) is not None
    (tmp_path / "memory.max").write_text("100000000\n")
    assert machine.available_bytes(tmp_path) == 60_000_000


@pytest.mark.parametrize(
    "options",
    [
        {"lca": "depth"},
        {"permutations": -1},
        {"half_samples": 1},
        {"trees": 6},
        {"trees": "many"},
        {"forest_lca": "path"},
    ],
)
def test_options_are_refused_before_any_tree_is_built(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.structure import comparing

    monkeypatch.setattr(comparing, "tree_of_points", lambda *_: pytest.fail("a tree was built"))
    with pytest.raises(InputError):
        compare(A, B, **options)
    with pytest.raises(InputError):
        compare_all([A, B, A], **options)


def test_heights_of_any_size_have_their_correlation() -> None:
    options: dict[str, Any] = {"geometry": "euclidean", "lca": "height"}
    expected = five(A, B, **options).values()
    for factor in (1e160, 1e-170):
        found = five(factor * A, factor * B, **options).values()
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_no_more_memory_is_free_than_there_is() -> None:
    free = machine.available_bytes()
    assert free is None or 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("n", "geometry"), [(50_000, "cosine"), (50_000, "spherical"), (100_000, "spherical")]
)
def test_the_estimate_is_near_what_the_benchmark_measured(n: int, geometry: str) -> None:
    results = Path(__file__).parents[2] / "benchmarks" / "results"
    record = results / f"structure-{n}-{geometry}.json"
    targets = json.loads(record.read_text())["targets"]
    (peak,) = (t["measured"] * 1e9 for t in targets if t["what"] == "peak memory, GB")
    assert peak < memory.tree_bytes(n, 128, geometry) < 2 * peak


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_p_values_are_what_permuting_rows_gives(geometry: str) -> None:
    """The cross terms alone must equal comparing permuted rows from scratch."""
    a, b = A[:20], A[:20, :5] + 1.5 * B[:20]
    found = five(a, b, geometry=geometry, permutations=39, seed=5)
    rng = np.random.default_rng(5)
    reached = np.zeros(5)
    for _ in range(39):
        permuted = five(a, b[rng.permutation(20)], geometry=geometry)
        reached += permuted.values() >= found.values() - 1e-12
    assert found.p_values is not None
    np.testing.assert_allclose(found.p_values.values(), (1 + reached) / 40)


def test_p_values_of_unrelated_sets_are_uniform() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for trial in range(120):
        a, b = rng.normal(size=(24, 5)), rng.normal(size=(24, 5))
        found = five(a, b, permutations=99, seed=trial)
        assert found.p_values is not None
        rows.append(found.p_values.values())
    for column in np.array(rows).T:
        # p-values sit on a grid of hundredths: spread each over its cell before the test.
        spread = column - rng.uniform(0, 0.01, size=len(column))
        assert kstest(spread, "uniform").pvalue > 0.005


def test_p_values_of_related_sets_are_small() -> None:
    found = five(A, B, permutations=99)
    assert found.p_values is not None
    np.testing.assert_allclose(found.p_values.values(), 0.01)


def test_seeds_decide() -> None:
    a, b = A[:30], RNG.normal(size=(30, 4))
    one, same, other = (
        five(a, b, permutations=50, half_samples=4, seed=seed) for seed in (1, 1, 2)
    )
    assert one.p_values == same.p_values
    assert one.p_values != other.p_values
    assert one.half_samples == same.half_samples
    assert one.half_samples != other.half_samples


def test_half_samples_are_comparisons_of_halves() -> None:
    found = five(A, B, half_samples=3, seed=8).half_samples
    assert found is not None
    rng = np.random.default_rng([8, 1])
    halves = [np.sort(rng.choice(60, 30, replace=False)) for _ in range(3)]
    values = [five(A[rows], B[rows]).values() for rows in halves]
    np.testing.assert_allclose(found.mean.values(), np.mean(values, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.deviation.values(), np.std(values, axis=0, ddof=1), atol=1e-12)


def test_scores_are_unstable_where_halves_move_them() -> None:
    found = compare(A, B, trees=0, half_samples=3)
    spread = found.half_samples
    assert spread is not None
    steady = replace(
        spread,
        mean=Scores(found.lca, found.cophenetic),
        deviation=Scores(LCASimilarity(0.05, 0.0, 0.01), CopheneticSimilarity(0.0, 0.0)),
    )
    assert replace(found, half_samples=steady).unstable == ()
    apart = replace(
        steady, deviation=Scores(LCASimilarity(0.0, 0.051, 0.0), CopheneticSimilarity(0.0, 0.2))
    )
    assert replace(found, half_samples=apart).unstable == ("spearman", "d2_to_p1")
    lca, cophenetic = found.lca, found.cophenetic
    elsewhere = replace(
        steady,
        mean=Scores(
            replace(lca, pearson=lca.pearson - 0.06),
            replace(cophenetic, d1_to_p2=cophenetic.d1_to_p2 + 0.06),
        ),
    )
    assert replace(found, half_samples=elsewhere).unstable == ("pearson", "d1_to_p2")
    assert replace(found, half_samples=None).unstable == ()


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_threads_do_not_change_the_answer(geometry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=(900, 40))
    b = a + rng.normal(size=a.shape)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        s = five(a, b, geometry=geometry, permutations=3)
        assert s.p_values is not None
        results.append([*s.values(), *s.p_values.values()])
    assert results[0] == results[1]


def test_importing_the_package_brings_numpy_alone() -> None:
    """So that it takes no time; `python -m benchmarks latency` has the seconds."""
    code = (
        "import sys; before = set(sys.modules); import sag_vicreg.structure; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["numpy", "sag_vicreg"], done.stderr


@pytest.mark.slow
def test_compiling_says_so_and_happens_once(tmp_path: Path) -> None:
    code = "from sag_vicreg.structure.kernels import kernel; kernel('ranks')"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling numerical kernels") == (not compiled)
        compiled.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")})
    assert compiled[0]
    assert compiled[0] == compiled[1]


def test_where_there_is_no_forest_the_result_says_why() -> None:
    assert compare(A, B, trees=0).forest_left_out == "no trees were asked for"
    few = compare(A[:49], B[:49])
    assert few.forest is None
    assert few.forest_left_out == "49 rows, and a forest needs at least 50"
    assert compare_all([A, B, A], trees=0).matrix("forest").shape == (3, 3)


def test_trees_are_added_until_their_error_is_small() -> None:
    rng = np.random.default_rng(3)
    loose = rng.normal(size=(60, 4))
    found = compare(loose, loose + rng.normal(size=(60, 4)), trees="auto").forest
    assert found is not None
    assert found.trees > 100
    assert found.error <= 0.005 or found.trees == 1_000
    same = compare(A, A, trees="auto").forest
    assert same is not None
    assert same.trees == 100


def test_the_self_score_is_the_cophenetic_correlation_of_one_set() -> None:
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.spatial.distance import pdist

    expected = [
        cophenet(linkage(pdist(x, "cosine"), "ward"), pdist(x, "cosine"))[0] for x in (A, B)
    ]
    np.testing.assert_allclose(five(A, B).self_scores, expected, atol=1e-9)
    matrix = compare_all([A, B], trees=0).matrix("d1_to_p2")
    np.testing.assert_allclose(np.diag(matrix), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (0.99, "agree closely"),
        (0.976, "agree closely"),  # as it is printed, 0.98
        (0.95, "agree on most"),
        (0.7, "agree in part"),
        (0.01, "next to no"),
    ],
)
def test_the_verdict_is_in_words(score: float, words: str) -> None:
    found = compare(A, A, trees=8)
    assert found.forest is not None
    fine = (ScaleSimilarity(0.01, 3.0, score - 0.3),)
    forest = replace(found.forest, spearman=score, interval=(score - 0.02, 1.01), by_scale=fine)
    said = verdict(replace(found, forest=forest), shared_neighbors=0.5)
    assert said == (
        f"The sets {said[9 : said.index(':')]}: forest similarity {score:.2f} "
        f"({score - 0.02:.2f} to 1.01), {score - 0.3:.2f} among the closest 1% of pairs; "
        "50% of nearest neighbours shared"
    )
    assert words in said
    assert "caution" not in said
    unsure = replace(forest, reliability=(0.9, 0.12))
    assert "; read with caution, for trees of one and the same set agree to only 0.12; 50%" in (
        verdict(replace(found, forest=unsure), shared_neighbors=0.5)
    )
    nothing = replace(forest, spearman=float("nan"))
    assert "do not repeat themselves" in verdict(replace(found, forest=nothing))

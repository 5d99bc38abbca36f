"""`compare`: what it accepts, what it refuses, and the honesty of its p-values."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kstest

from sag_vicreg.artifacts import Embeddings
from sag_vicreg.errors import InputError
from sag_vicreg.structure import GEOMETRIES, compare, compare_all, memory, ward_tree

Floats = npt.NDArray[np.float64]
RNG = np.random.default_rng(0)
A = RNG.normal(size=(60, 8))
B = A @ RNG.normal(size=(8, 5)) + 0.5 * RNG.normal(size=(60, 5))


def test_lists_tensors_and_float_types_are_the_same_to_it() -> None:
    torch = pytest.importorskip("torch")
    expected = compare(A, B).values()
    np.testing.assert_array_equal(compare(A.tolist(), B.tolist()).values(), expected)
    tensor = torch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(compare(tensor, torch.tensor(B)).values(), expected)
    np.testing.assert_allclose(compare(A.astype("f4"), B).values(), expected, atol=0.02)
    half = compare(A.astype("f2"), B.astype("f4"))
    brain = compare(torch.tensor(A).to(torch.bfloat16), B)
    assert min(half.lca.pearson, brain.lca.pearson) > 0


def test_the_result_says_what_was_done() -> None:
    s = compare(A, B, geometry="spherical", lca="path")
    assert (s.geometry, s.lca_distance, s.n, s.ties) == ("spherical", "path", 60, (0, 0))
    written = s.to_dict()
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
    (Embeddings(A), B, {}, "artifacts.align"),
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
    assert compare(A * (np.arange(60)[:, None] != 4), B, geometry="euclidean").n == 60


def test_a_distance_matrix_is_warned_about() -> None:
    distances = np.linalg.norm(A[:, None] - A[None], axis=2)
    with pytest.warns(UserWarning, match="looks like a distance matrix"):
        compare(distances, B)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(A[:8], B[:8])  # square, but no distances


def test_what_cannot_fit_is_refused_with_the_geometry_that_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 20_000_000)
    x = np.random.default_rng(1).normal(size=(3000, 4))
    with pytest.raises(InputError, match=r"need about 0\.0 GB .*'spherical' needs about"):
        ward_tree(x)
    assert ward_tree(x, geometry="spherical").n == 3000
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)
    with pytest.raises(InputError, match="take fewer rows"):
        compare(x, x, geometry="euclidean")


def test_a_container_has_what_its_limit_leaves_and_files_it_may_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    unlimited = memory.available_bytes()
    (tmp_path / "memory.current").write_text("90000000\n")
    (tmp_path / "memory.stat").write_text("anon 9\ninactive_file 40000000\nactive_file 10000000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert unlimited is None or memory.available_bytes() is not None
    (tmp_path / "memory.max").write_text("100000000\n")
    assert memory.available_bytes() == 60_000_000


@pytest.mark.parametrize("options", [{"lca": "depth"}, {"permutations": -1}, {"half_samples": 1}])
def test_options_are_refused_before_any_tree_is_built(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.structure import comparison

    monkeypatch.setattr(comparison, "tree_of_points", lambda *_: pytest.fail("a tree was built"))
    with pytest.raises(InputError):
        compare(A, B, **options)
    with pytest.raises(InputError):
        compare_all([A, B, A], **options)


def test_heights_of_any_size_have_their_correlation() -> None:
    options: dict[str, Any] = {"geometry": "euclidean", "lca": "height"}
    expected = compare(A, B, **options).values()
    for factor in (1e160, 1e-170):
        found = compare(factor * A, factor * B, **options).values()
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_no_more_memory_is_free_than_there_is() -> None:
    free = memory.available_bytes()
    assert free is None or 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("n", "geometry"), [(50_000, "cosine"), (50_000, "spherical"), (100_000, "spherical")]
)
def test_the_estimate_is_near_what_the_benchmark_measured(n: int, geometry: str) -> None:
    record = Path(__file__).parents[2] / "benchmarks" / f"structure-{n}-{geometry}.json"
    targets = json.loads(record.read_text())["targets"]
    (peak,) = (t["measured"] * 1e9 for t in targets if t["what"] == "peak memory, GB")
    assert peak < memory.tree_bytes(n, 128, geometry) < 2 * peak


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_p_values_are_what_permuting_rows_gives(geometry: str) -> None:
    """The cross terms alone must equal comparing permuted rows from scratch."""
    a, b = A[:20], A[:20, :5] + 1.5 * B[:20]
    found = compare(a, b, geometry=geometry, permutations=39, seed=5)
    rng = np.random.default_rng(5)
    reached = np.zeros(5)
    for _ in range(39):
        permuted = compare(a, b[rng.permutation(20)], geometry=geometry)
        reached += permuted.values() >= found.values() - 1e-12
    assert found.p_values is not None
    np.testing.assert_allclose(found.p_values.values(), (1 + reached) / 40)


def test_p_values_of_unrelated_sets_are_uniform() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for trial in range(120):
        a, b = rng.normal(size=(24, 5)), rng.normal(size=(24, 5))
        found = compare(a, b, permutations=99, seed=trial)
        assert found.p_values is not None
        rows.append(found.p_values.values())
    for column in np.array(rows).T:
        # p-values sit on a grid of hundredths: spread each over its cell before the test.
        spread = column - rng.uniform(0, 0.01, size=len(column))
        assert kstest(spread, "uniform").pvalue > 0.005


def test_p_values_of_related_sets_are_small() -> None:
    found = compare(A, B, permutations=99)
    assert found.p_values is not None
    np.testing.assert_allclose(found.p_values.values(), 0.01)


def test_seeds_decide() -> None:
    a, b = A[:30], RNG.normal(size=(30, 4))
    one, same, other = (
        compare(a, b, permutations=50, half_samples=4, seed=seed) for seed in (1, 1, 2)
    )
    assert one.p_values == same.p_values
    assert one.p_values != other.p_values
    assert one.half_samples == same.half_samples
    assert one.half_samples != other.half_samples


def test_half_samples_are_comparisons_of_halves() -> None:
    found = compare(A, B, half_samples=3, seed=8).half_samples
    assert found is not None
    rng = np.random.default_rng([8, 1])
    halves = [np.sort(rng.choice(60, 30, replace=False)) for _ in range(3)]
    values = [compare(A[rows], B[rows]).values() for rows in halves]
    np.testing.assert_allclose(found.mean.values(), np.mean(values, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.deviation.values(), np.std(values, axis=0, ddof=1), atol=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_threads_do_not_change_the_answer(geometry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=(900, 40))
    b = a + rng.normal(size=a.shape)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        s = compare(a, b, geometry=geometry, permutations=3)
        assert s.p_values is not None
        results.append([*s.values(), *s.p_values.values()])
    assert results[0] == results[1]


def test_importing_the_room_is_quick_and_light() -> None:
    code = (
        "import sys, time; t = time.perf_counter(); import sag_vicreg.structure; "
        "print(time.perf_counter() - t); "
        "print([m for m in ('torch', 'numba', 'scipy', 'sklearn', 'matplotlib') "
        "if m in sys.modules])"
    )
    seconds = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
        taken, heavy = done.stdout.splitlines()
        assert heavy == "[]"
        seconds.append(float(taken))
    assert min(seconds) < 0.5


@pytest.mark.slow
def test_compiling_says_so_and_happens_once(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from sag_vicreg.structure import compare; "
        "x = np.random.default_rng(0).normal(size=(30, 4)); compare(x, x + 1)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=300,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling numerical kernels") == (not compiled)
        compiled.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")})
    assert compiled[0]
    assert compiled[0] == compiled[1]

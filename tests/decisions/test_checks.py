"""What `check` finds in a set, against plain loops."""

import numpy as np
import pytest

from sag_vicreg.artifacts import Embeddings
from sag_vicreg.decisions import check_join, check_set
from sag_vicreg.decisions.checking import NEAR

RNG = np.random.default_rng(0)


def test_a_sound_set_has_neither_faults_nor_oddities() -> None:
    x = RNG.normal(size=(80, 5))
    found = check_set(Embeddings(x, np.arange(80).astype(str)), "x")
    assert found.faults == ()
    assert found.oddities == ()
    assert (found.rows, found.dimensions, found.dtype) == (80, 5, "float64")
    lengths = np.linalg.norm(x, axis=1)
    assert found.norms == pytest.approx((lengths.min(), np.median(lengths), lengths.max()))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_normalised_rows_are_seen_in_every_precision(dtype: type) -> None:
    x = RNG.normal(size=(80, 64))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)
    assert check_set(Embeddings(x), "x").normalised
    assert not check_set(Embeddings(x * dtype(1.01)), "x").normalised


def test_every_fault_is_counted_and_named() -> None:
    x = RNG.normal(size=(60, 4))
    x[3, 1], x[5, 0], x[5, 2] = np.nan, np.inf, -np.inf
    x[7:9] = 0
    ids = np.arange(60).astype(str)
    ids[10], ids[11], ids[12] = "", "13", "13"
    found = check_set(Embeddings(x, ids), "x")
    assert (found.not_finite, found.zero, found.empty_ids, found.repeated_ids) == (2, 2, 1, 2)
    assert [fault.split(":")[0] for fault in found.faults] == [
        "2 rows have NaN or infinity",
        "1 row has an empty id",
        "2 rows have the id of another row",
        "2 rows have no direction, being zero throughout",
    ]


def test_duplicates_are_those_of_a_plain_loop() -> None:
    x = RNG.normal(size=(300, 6))
    x[40:50] = x[0:10]
    x[60:70] = 2 * x[10:20] + 1e-4 * RNG.normal(size=(10, 6))
    x[70:75] = x[20:25] + 0.05 * RNG.normal(size=(5, 6))
    exact = sum(any((x[i] == x[j]).all() for j in range(i)) for i in range(300))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    distinct = [i for i in range(300) if not any((x[i] == x[j]).all() for j in range(i))]
    near = sum(any(unit[i] @ unit[j] > NEAR for j in distinct if j < i) for i in distinct)
    found = check_set(Embeddings(x), "x")
    assert (found.duplicates, found.near_duplicates) == (exact, near)
    assert exact == 10
    assert near >= 10


def test_of_many_rows_a_sample_is_searched_for_near_duplicates() -> None:
    found = check_set(Embeddings(RNG.normal(size=(80, 3))), "x", most_paired=50)
    assert found.sampled == 50


def test_constant_dimensions_and_whole_numbers_are_noted() -> None:
    x = RNG.integers(-127, 128, size=(60, 8)).astype(float)
    x[:, 2] = 5
    found = check_set(Embeddings(x), "x")
    assert found.constant_dimensions == 1
    assert found.whole_numbers
    assert len(found.notes) == 2
    assert all(note.startswith("x: ") for note in found.notes)


def test_numbers_beyond_the_range_of_squares_keep_their_norms() -> None:
    x = RNG.normal(size=(60, 4)) * 1e200
    found = check_set(Embeddings(x), "x")
    assert found.norms is not None
    assert np.isfinite(found.norms).all()
    assert found.faults == ()


def test_nothing_but_bad_rows_is_reported_not_raised() -> None:
    found = check_set(Embeddings(np.full((5, 3), np.nan)), "x")
    assert found.not_finite == 5
    assert found.norms is None


def test_how_sets_join() -> None:
    def of(ids: list[str] | None, n: int = 3) -> Embeddings:
        return Embeddings(np.ones((n, 2)), None if ids is None else np.array(ids))

    by_id = check_join([of(["a", "b", "c"]), of(["c", "b", "x"])])
    assert (by_id.matched_by, by_id.common, by_id.left_over) == ("id", 2, (1, 1))
    assert check_join([of(["a", "b", "c"]), of(None)]).matched_by == "position"
    apart = check_join([of(None), of(None, 4)])
    assert apart.common is None
    assert "differ in length" in apart.sentence()

"""Neighbours of anchors among all rows, against scikit-learn's brute force."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from sag_vicreg.artifacts import open_table
from sag_vicreg.artifacts.id_hashes import hash_positions
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.structure import compare_tables
from sag_vicreg.structure.anchor_neighbors import nearest_of_anchors, neighbors_shared
from sag_vicreg.structure.anchors import AnchorPlan, choose_from_both
from tables import names_of, two_sets, write_folder

N, K = 3_000, 10
SMALL = {"anchors": 60, "leaves": 150, "trees": 4, "sets": 2}
ROWS = np.random.default_rng(2).permutation(N)[:80]


def brute(x: np.ndarray, geometry: str) -> np.ndarray:
    metric = "euclidean" if geometry == "euclidean" else "cosine"
    search = NearestNeighbors(n_neighbors=K + 1, metric=metric, algorithm="brute").fit(x)
    return search.kneighbors(x[ROWS], return_distance=False)[:, 1:]


@pytest.mark.parametrize("geometry", ["cosine", "euclidean"])
@pytest.mark.parametrize("row_group", [7, 500, N])
def test_they_are_those_of_brute_force(tmp_path: Path, geometry: str, row_group: int) -> None:
    x = two_sets(N)[0].astype(np.float64) + 50.0 * (geometry == "euclidean")
    table = open_table(write_folder(tmp_path / "t", x, files=2, row_group=row_group))
    found = nearest_of_anchors(table, ROWS, Passes(2), geometry=geometry)
    keys = hash_positions(0, N)
    for anchor, expected in enumerate(brute(x, geometry)):
        assert set(found.keys[anchor].tolist()) == set(keys[expected].tolist())
    assert (np.diff(found.squared, axis=1) >= 0).all()


def test_equal_distances_go_to_the_lower_hash_however_the_table_is_cut(tmp_path: Path) -> None:
    x = np.repeat(two_sets(N)[0][: N // 20], 20, axis=0)
    found = [
        nearest_of_anchors(
            open_table(write_folder(tmp_path / str(size), x, row_group=size)),
            ROWS,
            Passes(),
            geometry="cosine",
        )
        for size in (11, 400, N)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].keys, other.keys)
        np.testing.assert_array_equal(found[0].squared, other.squared)
    copies = hash_positions(0, N).reshape(-1, 20)
    own = hash_positions(0, N)[ROWS]
    for anchor, row in enumerate(ROWS):
        others = np.sort(copies[row // 20][copies[row // 20] != own[anchor]])
        np.testing.assert_array_equal(found[0].keys[anchor], others[:K])


def test_what_both_tables_share(tmp_path: Path) -> None:
    a, b = two_sets(N)
    order = np.random.default_rng(1).permutation(N)
    tables = (
        open_table(write_folder(tmp_path / "a", a, names_of(N))),
        open_table(write_folder(tmp_path / "b", b[order], names_of(N)[order], row_group=170)),
    )
    plan = AnchorPlan(N, **SMALL)
    chosen = choose_from_both(*tables, plan, Passes(), by_position=False)
    shared, error = neighbors_shared(tables, chosen, Passes(), geometry="cosine", by_position=False)
    rows = chosen[0].rows[chosen[0].anchors[0]]
    near = []
    for x in (a, b):
        search = NearestNeighbors(n_neighbors=K + 1, metric="cosine", algorithm="brute").fit(x)
        near.append(search.kneighbors(x[rows], return_distance=False)[:, 1:])
    shares = [len(set(i) & set(j)) / K for i, j in zip(*(x.tolist() for x in near), strict=True)]
    assert shared == pytest.approx(np.mean(shares))
    assert error == pytest.approx(np.std(shares, ddof=1) / 60**0.5)
    assert 0.05 < shared < 0.9
    found = compare_tables(*tables, **SMALL)
    assert (found.neighbors_shared, found.neighbors_error) == (shared, error)
    same = compare_tables(tables[0], tables[0], **SMALL)
    assert same.neighbors_shared == 1


def test_a_zero_vector_is_named(tmp_path: Path) -> None:
    x = two_sets(N)[0].copy()
    x[2_500] = 0
    table = open_table(write_folder(tmp_path / "t", x))
    with pytest.raises(InputError, match=r"row 500 of part-2.parquet is a zero vector"):
        nearest_of_anchors(table, ROWS[ROWS != 2_500], Passes(), geometry="cosine")

"""What a forest refuses, in one line that names the remedy."""

from typing import Any

import numpy as np
import pytest

from forests import hierarchy
from sag_vicreg.errors import InputError
from sag_vicreg.structure import GEOMETRIES, forest_similarity, memory, ward_forest

X = hierarchy(60, seed=0)
FOREST = ward_forest(X, trees=8)

BAD: list[tuple[Any, dict[str, Any], str]] = [
    (X[:49], {}, "x has 49 rows: a forest needs at least 50"),
    (X, {"trees": 0}, "0 trees: .* need a multiple of 4, such as 4"),
    (X, {"trees": -4}, "-4 trees: .* such as 4"),
    (X, {"trees": 99}, "99 trees: .* such as 100"),
    (X, {"trees": 8_004}, "8004 trees: a forest has at most 8,000"),
    (X, {"distance": "sise"}, "unknown forest distance 'sise': did you mean 'size'"),
    (X, {"distance": "path"}, "unknown forest distance 'path'.*Valid: size, level, order, height"),
    (X, {"geometry": "cosin"}, "did you mean 'cosine'"),
    (X, {"items": 49}, "items is 49: a forest needs at least 50"),
    (X, {"items": 65_001}, "items is 65001: in a forest at most 65,000 take part"),
    (X, {"seed": -1}, "seed is -1: give 0 or more"),
    (np.ones((60, 3)), {}, "x is constant: all 60 rows"),
    (np.ones((60, 3)), {"geometry": "euclidean"}, "x is constant"),
    (np.where(np.arange(60)[:, None] == 7, np.nan, X), {}, "x: row 7 holds NaN"),
    (X * (np.arange(60)[:, None] != 4), {}, "x: row 4 is a zero vector"),
]


@pytest.mark.parametrize(("x", "options", "message"), BAD)
def test_bad_sets_and_options(x: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ward_forest(x, name="x", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (60, {"trees": 12}),
        (60, {"trees": 8, "seed": 1}),
        (60, {"trees": 8, "distance": "level"}),
        (59, {"trees": 8}),
        (60, {"trees": 8, "items": 50}),
    ],
)
def test_forests_of_other_halves(rows: int, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="build both with the same options") as caught:
        forest_similarity(FOREST, ward_forest(X[:rows], **options))
    assert "\n" not in str(caught.value)


def test_fewer_permutations_than_none() -> None:
    with pytest.raises(InputError, match="permutations is -1: give 0 or more"):
        forest_similarity(FOREST, FOREST, permutations=-1)


def test_two_geometries_can_be_compared() -> None:
    other = ward_forest(X, trees=8, geometry="euclidean")
    found = forest_similarity(FOREST, other)
    back = forest_similarity(other, FOREST)
    assert found.interval == pytest.approx(back.interval, abs=1e-12)
    assert found.interval[0] < found.interval[1]


@pytest.mark.parametrize("side", ["first", "second"])
def test_trees_that_tell_no_pairs_apart(side: str) -> None:
    """The one row that differs is the one that the first split of 51 rows leaves out."""
    options: dict[str, Any] = {"trees": 4, "geometry": "euclidean", "distance": "height"}
    x = hierarchy(51, seed=1)
    forest = ward_forest(x, **options)
    flat = np.zeros_like(x)
    flat[forest.items[forest.half[0] == -1]] = 1.0
    pair = [ward_forest(flat, **options), forest]
    if side == "second":
        pair.reverse()
    with pytest.raises(InputError, match=f"trees of the {side} set: the correlation is undefined"):
        forest_similarity(*pair)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_trees_side_by_side_that_cannot_fit(geometry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    x = np.random.default_rng(1).normal(size=(2000, 4))
    needed = memory.tree_bytes(2000, 4, geometry) + 8 * memory.tree_bytes(1000, 4, geometry)
    monkeypatch.setattr(memory, "available_bytes", lambda: needed - 1)
    remedy = "'spherical' needs about" if geometry == "cosine" else "OMP_NUM_THREADS to fewer"
    with pytest.raises(InputError, match=f"2,000 rows in geometry '{geometry}' .*{remedy}"):
        ward_forest(x, trees=4, geometry=geometry)
    monkeypatch.setattr(memory, "available_bytes", lambda: needed)
    assert ward_forest(x, trees=4, geometry=geometry).leaves == 1000

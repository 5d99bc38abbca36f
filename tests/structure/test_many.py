"""Many sets at once."""

import numpy as np
import pytest

from sag_vicreg.errors import InputError
from sag_vicreg.structure import MATRIX_SCORES, compare, compare_all

RNG = np.random.default_rng(0)
SETS = [RNG.normal(size=(40, d)) for d in (5, 7, 3)]
SETS[1][:, :5] += SETS[0]


@pytest.mark.parametrize("score", [name for name in MATRIX_SCORES if name != "forest"])
def test_the_matrix_holds_every_comparison(score: str) -> None:
    found = compare_all(SETS, names=["x", "y", "z"])
    matrix = found.matrix(score)
    key = MATRIX_SCORES[score]
    for i in range(3):
        for j in range(3):
            alone = compare(SETS[i], SETS[j]).flat()
            assert matrix[i, j] == pytest.approx(alone[key], abs=1e-12)


def test_pairs_carry_their_own_p_values() -> None:
    found = compare_all(SETS, permutations=19, half_samples=2, seed=3)
    alone = compare(SETS[0], SETS[2], permutations=19, half_samples=2, seed=3)
    assert found.pairs[0, 2].p_values == alone.p_values
    assert found.pairs[0, 2].half_samples == alone.half_samples
    written = found.to_dict()
    assert written["names"] == ["set 0", "set 1", "set 2"]
    assert len(written["pairs"]) == 3
    assert set(written["matrices"]) == set(MATRIX_SCORES)


def test_mistakes() -> None:
    with pytest.raises(InputError, match="at least two"):
        compare_all(SETS[:1])
    with pytest.raises(InputError, match="x has 40 rows and z has 39"):
        compare_all([*SETS[:2], SETS[2][1:]], names=["x", "y", "z"])
    with pytest.raises(InputError, match="did you mean 'spearman'"):
        compare_all(SETS).matrix("spearmen")

"""The forest similarity alone is that of the whole comparison."""

import numpy as np
import pytest

from sag_vicreg.errors import InputError
from sag_vicreg.structure import GEOMETRIES, compare
from sag_vicreg.structure.corrected import corrected_similarity

RNG = np.random.default_rng(0)
A = np.repeat(2 * RNG.normal(size=(6, 8)), 9, axis=0) + RNG.normal(size=(54, 8))
B = A + RNG.normal(size=A.shape)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_it_is_the_score_that_compare_gives(geometry: str) -> None:
    whole = compare(A, B, geometry=geometry, trees=16, seed=3)
    assert whole.forest is not None
    alone = corrected_similarity(A, B, geometry=geometry, trees=16, seed=3)
    assert alone == whole.forest.spearman


def test_too_few_rows_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="a has 49 rows: a forest needs at least 50"):
        corrected_similarity(A[:49], B[:49])


def test_sets_whose_trees_say_nothing_have_no_score() -> None:
    noise = np.random.default_rng(42).normal(size=(50, 400))
    with pytest.raises(InputError, match="do not repeat themselves"):
        corrected_similarity(noise, noise, trees=4)

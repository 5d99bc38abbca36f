"""How far chance moves a forest similarity: is what it says of that true?"""

import numpy as np
import pytest
from scipy.stats import kstest

from forests import Floats, hierarchy
from sag_vicreg.structure import Forest, forest_similarity, ward_forest
from sag_vicreg.structure.forest_tables import PairAverages, tabulate
from sag_vicreg.structure.forest_uncertainty import permutation_p_value, tree_error

SQUEEZE = np.random.default_rng(0).normal(size=(16, 4))


def squeezed(n: int, seed: int) -> tuple[Floats, Floats]:
    """Draw items of a hierarchy, and the same in four dimensions: part of it is lost."""
    x = hierarchy(n, seed=seed)
    return x, x @ SQUEEZE


def forests(sets: tuple[Floats, Floats], *, trees: int, seed: int) -> tuple[Forest, Forest]:
    a, b = (ward_forest(x, trees=trees, seed=seed) for x in sets)
    return a, b


def test_intervals_cover_the_score_of_other_items() -> None:
    """Twenty draws: less than 15 hits of 95 percent intervals would be a coincidence of 1e-3."""
    found = [
        forest_similarity(*forests(squeezed(120, seed), trees=20, seed=seed)) for seed in range(20)
    ]
    scores = np.array([s.spearman for s in found])
    low, high = np.array([s.interval for s in found]).T
    np.testing.assert_allclose((low + high) / 2, scores)
    truth = scores.mean()
    assert ((low < truth) & (truth < high)).sum() >= 15
    # Neither too narrow nor so wide that they say nothing.
    assert 1.5 < ((high - low) / 2).mean() / scores.std(ddof=1) < 5


def test_intervals_narrow_with_more_items() -> None:
    widths = []
    for n in (60, 240):
        found = forest_similarity(*forests(squeezed(n, seed=1), trees=8, seed=1))
        widths.append(found.interval[1] - found.interval[0])
    assert widths[1] < 0.8 * widths[0]


def test_the_error_is_the_spread_over_other_halves() -> None:
    sets = squeezed(100, seed=2)
    errors, scores = [], []
    for seed in range(16):
        averages = PairAverages(*forests(sets, trees=40, seed=seed))
        bins = averages.bins()
        errors.append(tree_error(averages, bins))
        scores.append(tabulate(averages, bins).corrected()[0])
    assert 0.5 < np.mean(errors) / np.std(scores, ddof=1) < 2


def test_more_trees_err_less() -> None:
    sets = squeezed(100, seed=3)
    errors = []
    for trees in (20, 320):
        averages = PairAverages(*forests(sets, trees=trees, seed=0))
        errors.append(tree_error(averages, averages.bins()))
    assert errors[1] < errors[0] / 2


def test_four_trees_cannot_tell_their_error() -> None:
    averages = PairAverages(*forests(squeezed(60, seed=4), trees=4, seed=0))
    assert np.isnan(tree_error(averages, averages.bins()))


@pytest.mark.parametrize("trees", [4, 20])
def test_p_values_of_shuffled_sets_are_uniform(trees: int) -> None:
    """With four trees, three of four pairs are missing from one group or the other."""
    p_values = []
    for seed in range(150):
        x = hierarchy(50, seed=seed)
        shuffled = x[np.random.default_rng([seed, 1]).permutation(50)]
        averages = PairAverages(*forests((x, shuffled), trees=trees, seed=seed))
        p_values.append(permutation_p_value(averages, permutations=39, seed=seed))
    assert set(np.round(np.array(p_values) * 40, 9)) <= set(range(1, 41))
    # Spread over the cells they stand for, they are uniform between 0 and 1.
    within = np.random.default_rng(0).uniform(size=150)
    assert kstest(np.array(p_values) - within / 40, "uniform").pvalue > 0.01


def test_p_value_of_a_set_and_itself_is_the_smallest_there_is() -> None:
    a, b = forests((hierarchy(60, seed=5),) * 2, trees=8, seed=0)
    assert forest_similarity(a, b, permutations=19).p_value == 1 / 20
    assert forest_similarity(a, b).p_value is None

"""Hashes of ids: uniform, independent between seeds, the same wherever an id stands."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kstest, spearmanr

from sag_vicreg.artifacts.id_hashes import hash_again, hash_ids, hash_positions


def test_hashes_do_not_depend_on_neighbours_slices_or_types() -> None:
    words = ["", "a", "a\0", "abcdefgh", "abcdefghi", "é", "x" * 100, "12"]
    whole = hash_ids(pa.array(words))
    assert len(set(whole.tolist())) == len(words)
    for place, word in enumerate(words):
        assert hash_ids(pa.array([word]))[0] == whole[place]
    np.testing.assert_array_equal(hash_ids(pa.array(words).slice(3, 4)), whole[3:7])
    np.testing.assert_array_equal(hash_ids(pa.array(words, pa.large_string())), whole)
    assert len(hash_ids(pa.array([], pa.string()))) == 0


def test_hashes_are_what_they_were() -> None:
    """Tables hashed by different versions must choose the same rows."""
    assert hash_ids(pa.array(["cat", "a longer id"])).tolist() == [
        6325979436254510478,
        4690585811485512947,
    ]
    assert hash_positions(0, 2, seed=3).tolist() == [6715465349717611263, 11178804678555112002]


@pytest.mark.parametrize("kind", ["text", "position", "again"])
def test_hashes_are_uniform_and_seeds_independent(kind: str) -> None:
    ids = pa.array([f"img_{k:05d}.png" for k in range(5_000)])
    found = [
        {
            "text": lambda seed: hash_ids(ids, seed=seed),
            "position": lambda seed: hash_positions(0, 5_000, seed=seed),
            "again": lambda seed: hash_again(hash_ids(ids), seed=seed),
        }[kind](seed)
        for seed in range(40)
    ]
    for shift in (0, 32):
        p_values = [
            kstest((hashes << np.uint64(shift)) / 2.0**64, "uniform").pvalue for hashes in found
        ]
        assert kstest(p_values, "uniform").pvalue > 1e-3
    for one, other in pairwise(found):
        assert len(np.unique(one)) == 5_000
        assert abs(spearmanr(one, other).statistic) < 0.07
        assert abs(spearmanr(one[1:], one[:-1]).statistic) < 0.07

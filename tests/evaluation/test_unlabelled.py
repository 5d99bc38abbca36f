"""Measures without labels: their definitions written out, and what they say of known shapes."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import alignment, alpha_req, label_free, rankme, uniformity


@pytest.fixture
def vectors() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, 20)) @ rng.standard_normal((20, 20)) + 0.5


def test_rankme_is_the_entropy_of_singular_values(vectors: np.ndarray) -> None:
    for matrix in (vectors, vectors[:12]):  # tall and wide
        singular = np.linalg.svd(matrix, compute_uv=False)
        p = singular / singular.sum() + 1e-7
        assert rankme(matrix) == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-6)


def test_rankme_counts_equal_directions() -> None:
    flat = np.zeros((64, 10))
    flat[:, :4] = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 4)))[0]
    assert rankme(flat) == pytest.approx(4, rel=1e-4)
    assert rankme(flat * 1e-200) == pytest.approx(4, rel=1e-4)
    assert rankme(np.ones((50, 8))) == pytest.approx(1, abs=1e-4)
    with pytest.raises(InputError, match="zero"):
        rankme(np.zeros((5, 3)))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_alpha_req_finds_the_exponent_of_a_power_law(alpha: float) -> None:
    directions = np.random.default_rng(0).standard_normal((500, 40))
    directions = np.linalg.qr(directions - directions.mean(axis=0))[0]
    scales = np.arange(1, 41) ** (-alpha / 2)
    assert alpha_req(directions * scales + 3.0) == pytest.approx(alpha, abs=1e-6)


def test_alpha_req_needs_two_directions() -> None:
    assert alpha_req(np.ones((20, 5))) is None
    assert alpha_req(np.outer(np.arange(20.0), np.ones(5))) is None


@pytest.mark.parametrize("n", [60, 4500])  # part of a block, and three of them
def test_uniformity_is_over_all_pairs(n: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((n, 5)) + 1
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = np.log(np.exp(-2 * pdist(unit, "sqeuclidean")).mean())
    assert uniformity(vectors) == pytest.approx(expected, rel=1e-5)


def test_uniformity_of_one_point_is_zero() -> None:
    assert uniformity(np.ones((10, 3))) == pytest.approx(0, abs=1e-6)


def test_alignment_of_views(vectors: np.ndarray) -> None:
    assert alignment(vectors, 3 * vectors) == pytest.approx(0, abs=1e-12)
    assert alignment(vectors, -vectors) == pytest.approx(4, rel=1e-6)
    with pytest.raises(InputError, match="shapes"):
        alignment(vectors, vectors[:-1])


def test_all_together(vectors: np.ndarray) -> None:
    assert label_free(vectors).alignment is None
    assert label_free(vectors, vectors).scores() == {
        "label_free.rankme": rankme(vectors),
        "label_free.alpha_req": alpha_req(vectors),
        "label_free.uniformity": uniformity(vectors),
        "label_free.alignment": 0.0,
    }

"""CKA, RSA, mutual neighbours and Fowlkes-Mallows against their definitions."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr
from sklearn.metrics import fowlkes_mallows_score

from sag_vicreg.errors import InputError
from sag_vicreg.structure import (
    Tree,
    context,
    cut,
    fowlkes_mallows,
    linear_cka,
    mutual_neighbors,
    neighborhood,
    rsa,
    ward_tree,
)

RNG = np.random.default_rng(0)
A = RNG.normal(size=(300, 6))
B = np.hstack([A[:, :4], RNG.normal(size=(300, 3))])
TREES = ward_tree(A, geometry="euclidean"), ward_tree(B, geometry="euclidean")


@pytest.mark.parametrize("d", [3, 500])
def test_cka_is_the_alignment_of_centred_gram_matrices(d: int) -> None:
    a = A @ RNG.normal(size=(6, d))
    centre = np.eye(300) - 1 / 300
    k, m = centre @ a @ a.T @ centre, centre @ B @ B.T @ centre
    expected = (k * m).sum() / np.linalg.norm(k) / np.linalg.norm(m)
    assert linear_cka(a, B) == pytest.approx(expected, abs=1e-10)
    assert linear_cka(a, 3 * a + 1) == pytest.approx(1.0, abs=1e-12)
    assert linear_cka(1e100 * a, 1e-100 * B) == pytest.approx(expected, abs=1e-10)


def test_rsa_is_spearman_of_distances_with_ties_shared() -> None:
    assert rsa(A, B) == pytest.approx(spearmanr(pdist(A), pdist(B)).statistic, abs=1e-12)
    corners = np.array([[i, j] for i in range(5) for j in range(5)], dtype=float)
    other = RNG.normal(size=(25, 2))
    expected = spearmanr(np.round(pdist(corners), 9), pdist(other)).statistic
    assert rsa(corners, other) == pytest.approx(expected, abs=1e-9)
    bits = RNG.integers(0, 2, size=(150, 12)).astype(float)
    assert rsa(bits, bits[:, ::-1]) == pytest.approx(1.0, abs=1e-12)


def test_rsa_is_refused_above_its_limit() -> None:
    tall = np.zeros((20_001, 1))
    with pytest.raises(InputError, match="at most 20,000 rows"):
        rsa(tall, tall)


def test_mutual_neighbors_by_definition() -> None:
    k, shared = 7, 0
    nearest = [np.argsort(cdist(x, x) + 1e9 * np.eye(300), axis=1)[:, :k] for x in (A, B)]
    for one, other in zip(*nearest, strict=True):
        shared += len(set(one.tolist()) & set(other.tolist()))
    assert mutual_neighbors(A, B, k=k) == pytest.approx(shared / (300 * k))
    assert mutual_neighbors(A, A) == 1.0
    assert mutual_neighbors(1e160 * A, 1e-170 * B, k=k) == pytest.approx(shared / (300 * k))
    with pytest.raises(InputError, match="lower k"):
        mutual_neighbors(A, B, k=300)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_fowlkes_mallows_equals_scikit_learn(k: int) -> None:
    labels = [fcluster(tree.linkage, k, "maxclust") for tree in TREES]
    found, chance = fowlkes_mallows(*TREES, k)
    assert found == pytest.approx(fowlkes_mallows_score(*labels), abs=1e-12)
    shuffled = [fowlkes_mallows_score(labels[0], RNG.permutation(labels[1])) for _ in range(200)]
    assert chance == pytest.approx(np.mean(shuffled), abs=0.02)
    for tree, expected in zip(TREES, labels, strict=True):
        assert len({*zip(cut(tree, k).tolist(), expected.tolist(), strict=True)}) == k


def test_singletons_agree_on_nothing() -> None:
    assert fowlkes_mallows(*TREES, 300) == (0.0, 0.0)


def test_context_gathers_them() -> None:
    found, near = context(*TREES), neighborhood(*TREES, neighbors=5)
    assert near.cka == linear_cka(A, B)
    assert near.neighbors == 5
    assert near.shared == mutual_neighbors(A, B, k=5)
    assert found.rsa == rsa(A, B)
    assert 0 < found.entanglement < 1
    assert found.to_dict()["fowlkes_mallows"][2] == fowlkes_mallows(*TREES, 2)[0]
    with pytest.raises(InputError, match="no points"):
        context(TREES[0], Tree(TREES[1].linkage))

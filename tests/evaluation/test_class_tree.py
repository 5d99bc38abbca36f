"""The embedding's tree of classes against the class tree."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau, pearsonr, spearmanr

from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import class_tree_similarity
from sag_vicreg.evaluation.class_tree import lca_levels
from sag_vicreg.hierarchy import Hierarchy, load_hierarchy
from sag_vicreg.structure import ward_tree

TREE = load_hierarchy("cifar100")


def class_vectors(scale: float) -> np.ndarray:
    """A vector a class: a sum of one vector a level, each weaker by ``scale``."""
    rng = np.random.default_rng(0)
    return sum(
        scale**level * rng.standard_normal((len(TREE.names_at(level)), 40))[TREE.labels_at(level)]
        for level in range(1, 5)
    )


def walked_levels(node, n: int) -> np.ndarray:
    """LCA levels by walking SciPy's tree node by node."""
    levels = np.zeros((n, n), dtype=int)

    def visit(node) -> tuple[int, list[int]]:
        if node.is_leaf():
            return 0, [node.id]
        (left, ours), (right, theirs) = visit(node.left), visit(node.right)
        level = 1 + max(left, right)
        for i in ours:
            for j in theirs:
                levels[i, j] = levels[j, i] = level
        return level, ours + theirs

    visit(node)
    return levels


def test_correlations_equal_those_of_walked_trees() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(100), 5)
    vectors = class_vectors(0.9)[labels] + rng.standard_normal((500, 40))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centroids = unit.reshape(100, 5, 40).mean(axis=1)
    ward = to_tree(linkage(pdist(centroids, "cosine"), "ward"))
    pairs = np.triu_indices(100, 1)
    by_embedding = walked_levels(ward, 100)[pairs]
    paths = np.array(TREE.paths)
    by_name = np.array([4 - (paths[i] == paths[j]).sum() for i, j in zip(*pairs, strict=True)])
    scores = class_tree_similarity(vectors, labels, TREE)
    assert scores.pearson == pytest.approx(pearsonr(by_embedding, by_name)[0])
    assert scores.spearman == pytest.approx(spearmanr(by_embedding, by_name)[0])
    assert scores.kendall == pytest.approx(kendalltau(by_embedding, by_name)[0])
    np.testing.assert_array_equal(
        lca_levels(ward_tree(centroids, geometry="cosine")), walked_levels(ward, 100)
    )


def test_an_embedding_that_follows_the_tree_scores_higher_than_one_that_does_not() -> None:
    labels = np.arange(100)
    follows = class_tree_similarity(class_vectors(0.3), labels, TREE)
    shuffled = class_vectors(0.3)[np.random.default_rng(0).permutation(100)]
    ignores = class_tree_similarity(shuffled, labels, TREE)
    assert follows.spearman > 0.7
    assert abs(ignores.spearman) < 0.2


def test_geometry_changes_the_tree_and_is_named() -> None:
    rng = np.random.default_rng(0)
    vectors = class_vectors(0.6) * rng.uniform(0.2, 5, (100, 1))
    by_angle, by_length = (
        class_tree_similarity(vectors, np.arange(100), TREE, geometry=geometry)
        for geometry in ("cosine", "euclidean")
    )
    assert by_angle.settings()["geometry"] == "cosine"
    assert by_angle.spearman > by_length.spearman


def test_a_flat_hierarchy_says_nothing_about_structure() -> None:
    flat = Hierarchy(tuple((name,) for name in "abcd"))
    assert class_tree_similarity(np.eye(4), list("abcd"), flat) is None


def test_a_class_without_a_direction_has_no_place_in_a_tree_of_directions() -> None:
    vectors = np.random.default_rng(0).normal(size=(100, 4))
    vectors[7] = 0
    assert class_tree_similarity(vectors, np.arange(100), TREE) is None
    assert class_tree_similarity(vectors, np.arange(100), TREE, geometry="euclidean") is not None


def test_two_classes_make_no_tree() -> None:
    with pytest.raises(InputError, match="2 classes"):
        class_tree_similarity(np.eye(2), [0, 1], TREE)


def test_centroids_that_are_one_point_have_no_tree_and_no_score() -> None:
    assert class_tree_similarity(np.full((300, 4), 0.1), np.arange(300) % 100, TREE) is None

"""Branches of trees of micro-clusters, against sets of rows in plain loops."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sag_vicreg.artifacts import open_table
from sag_vicreg.passes import Passes
from sag_vicreg.structure.branches import FATES, judge
from sag_vicreg.structure.cluster_branches import (
    PARTS,
    ClusterTree,
    central_rows,
    fates,
    flow,
)
from sag_vicreg.structure.cluster_similarity import contingency
from sag_vicreg.structure.micro_clusters import MicroClusters, micro_clusters
from tables import names_of, two_sets, write_folder

N = 1_200


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory):
    """Two tables in different orders, their trees, and the rows of B by row of A."""
    folder = tmp_path_factory.mktemp("tables")
    a, b = two_sets(N, noise=1.0)
    b[:60] = b[60:120]  # a branch or two lose their place
    order = np.random.default_rng(1).permutation(N)
    tables = (
        open_table(write_folder(folder / "a", a, names_of(N))),
        open_table(write_folder(folder / "b", b[order], names_of(N)[order], row_group=170)),
    )
    trees = [ClusterTree.of(micro_clusters(table, Passes(2), clusters=60)) for table in tables]
    counts = contingency(*tables, trees[0].clusters, trees[1].clusters, Passes())
    return tables, trees, counts, np.argsort(order)


def rows_by_node(tree: ClusterTree) -> list[set[int]]:
    """The rows of each node, joined merge by merge."""
    labels = tree.clusters.labels
    found = [set(np.flatnonzero(labels == cluster).tolist()) for cluster in range(tree.tree.n)]
    for left, right in tree.tree.children.tolist():
        found.append(found[left] | found[right])
    return found


def test_rows_leaves_and_parts_are_those_of_the_merges(both) -> None:
    tree = both[1][0]
    rows = rows_by_node(tree)
    assert tree.rows.tolist() == [len(each) for each in rows]
    assert tree.rows[tree.root] == N
    for node in (3, tree.tree.n + 5, tree.root):
        leaves = tree.leaves(node)
        assert np.isin(tree.clusters.labels, leaves).nonzero()[0].tolist() == sorted(rows[node])
    # The highest merge of what is left comes apart next.
    heights = dict(enumerate(tree.tree.heights, start=tree.tree.n))
    parts = [tree.root]
    while len(parts) < PARTS:
        highest = max(parts, key=lambda node: heights.get(node, 0.0))
        parts.remove(highest)
        parts += tree.tree.children[highest - tree.tree.n].tolist()
    found = tree.parts(tree.root)
    assert sorted(found) == sorted(parts)
    assert [len(rows[node]) for node in found] == sorted(map(len, map(rows.__getitem__, found)))[
        ::-1
    ]
    small = tree.tree.n + 1
    assert len(tree.parts(small)) == len(tree.leaves(small)) < PARTS


def test_the_outline_divides_every_branch_down_to_micro_clusters(both) -> None:
    tree = both[1][0]
    rows = rows_by_node(tree)
    outline = tree.outline()
    assert outline[0][0] == tree.root
    for node, parts in outline:
        below = [rows[outline[place][0]] for place in parts]
        assert len(below) <= PARTS
        if below:
            assert set.union(*below) == rows[node]
            assert sum(map(len, below)) == len(rows[node])
        else:
            assert node < tree.tree.n
    listed = [node for node, _ in outline]
    assert len(set(listed)) == len(listed)
    assert set(range(tree.tree.n)) <= set(listed)


def test_the_middle_of_a_branch_is_nearest_to_its_mean(both) -> None:
    tables, (tree, _), _, _ = both
    x = np.concatenate([v for piece in tables[0].pieces for _, v in tables[0].blocks(piece)])
    points = x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    for passes in (Passes(1), Passes(3)):
        found = central_rows(tables[0], tree.clusters, passes)
        for cluster, row in enumerate(found):
            members = np.flatnonzero(tree.clusters.labels == cluster)
            apart = np.linalg.norm(points[members] - points[members].mean(axis=0), axis=1)
            assert apart[members == row][0] == pytest.approx(apart.min())
    node = tree.parts(tree.root)[0]
    leaves = tree.leaves(node)
    mean = points[np.isin(tree.clusters.labels, leaves)].mean(axis=0)
    apart = [np.linalg.norm(tree.clusters.means[leaf] - mean) for leaf in leaves]
    assert tree.central(node, 3).tolist() == leaves[np.argsort(apart)[:3]].tolist()


def test_the_flow_counts_rows(both) -> None:
    _, (old, new), counts, place = both
    sides = old.parts(old.root), new.parts(new.root)
    rows = rows_by_node(old), rows_by_node(new)
    expected = [
        [len({int(place[row]) for row in rows[0][one]} & rows[1][other]) for other in sides[1]]
        for one in sides[0]
    ]
    found = flow(old, new, counts, sides)
    assert found.tolist() == expected
    assert found.sum() == N


def looked_for(wanted: set[int], new: ClusterTree, rows: list[set[int]]) -> list[float]:
    """What the kernel of forests finds of a set of rows in a tree, by sets."""
    holding = [each for each in rows if len(each & wanted) >= 0.75 * len(wanted)]
    smallest = min(holding, key=len)
    jaccard = max(len(each & wanted) / len(each | wanted) for each in holding)
    covered, pieces, waiting = 0, 0, [new.root]
    while waiting:
        node = waiting.pop()
        shared = len(rows[node] & wanted)
        if shared < max(2, len(wanted) // 10):
            continue
        if shared >= 0.75 * len(rows[node]):
            covered, pieces = covered + shared, pieces + 1
        elif node >= new.tree.n:
            waiting += new.tree.children[node - new.tree.n].tolist()
    outside = len(smallest - wanted) / (N - len(wanted))
    own = len(smallest & wanted) / len(smallest)
    return [jaccard, own, outside, covered / len(wanted), pieces]


def test_fates_are_those_of_the_sets_of_rows(both) -> None:
    _, (old, new), counts, place = both
    rows = rows_by_node(old), rows_by_node(new)
    nodes = list(range(old.tree.n, old.root))
    numbers = [
        looked_for({int(place[row]) for row in rows[0][node]}, new, rows[1]) for node in nodes
    ]
    expected = [FATES[which] for which in judge(np.array(numbers)).argmax(axis=0)]
    assert fates(old, new, counts, nodes) == expected
    assert len(set(expected)) >= 3


def test_known_fates() -> None:
    """Four clusters: one stays, one is torn in two, two become one."""

    def tree(groups: np.ndarray) -> ClusterTree:
        rows = np.arange(len(groups))
        # Far apart in order, but for the last, which is farthest from all.
        centres = 100.0 * np.array([0, 10, 25, 45, 200])[groups]
        points = np.stack([centres + rows % 7, rows % 11], axis=1) + 0.01 * rows[:, None]
        ones = np.ones(len(groups), np.int64)
        clusters = MicroClusters("euclidean", points, ones, rows.astype(np.uint16), 0.0)
        return ClusterTree.of(clusters)

    old = np.repeat(np.arange(4), 40)
    new = old.copy()
    new[40:60] = 4  # torn
    new[80:120] = 3  # joined
    counts = csr_array(np.eye(160, dtype=np.int64))
    before, after = tree(old), tree(new)
    branches = {}
    for node, of in enumerate(rows_by_node(before)):
        if len(of) == 40:
            branches[int(old[min(of)])] = node
    said = fates(before, after, counts, [branches[k] for k in range(4)])
    assert said == ["kept", "split", "merged", "merged"]

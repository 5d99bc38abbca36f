"""What moved between two forests: moments of each item's row, and clusters found again in trees.

Everything is counted in whole numbers, so that no result depends on the order of the work.
"""

import numpy as np

from sag_vicreg.compiling import compiled
from sag_vicreg.structure.kernels.forest import CODES, UNIT

# Of an item: pairs, then sums of A1, A2, B1, B2, their squares, A1 B2, A2 B1, A1 A2 and B1 B2.
MOMENTS = 13


@compiled("void(int64[::1], int64, int64, int64, int64)")
def _add(moments, a1, a2, b1, b2):
    means = (a1, a2, b1, b2)
    squares = (a1 * a1, a2 * a2, b1 * b1, b2 * b2)
    products = (a1 * b2, a2 * b1, a1 * a2, b1 * b2)
    sums = (1, *means, *squares, *products)
    for k in range(len(sums)):
        moments[k] += sums[k]


@compiled(
    "void(int32[:,:,::1], int32[:,:,::1], int32[:,:,::1], int64, int64, int64[:,::1],"
    " float32[:,::1], float32[:,::1])",
)
def add_items(sums_a, sums_b, counts, start, partners, moments, mean_a, mean_b):
    """Add the pairs of some items, from ``start`` on, with later ones to the items' moments.

    The partners of every item are the first ``partners`` items, which the rows must be among. Of
    pairs of two partners, the averages over all trees go into ``mean_a`` and ``mean_b``: NaN for a
    pair that no tree holds.
    """
    scale = (CODES - 1) / UNIT
    for row in range(sums_a.shape[1]):
        item = start + row
        for other in range(item + 1, sums_a.shape[2]):
            one, two = counts[0, row, other], counts[1, row, other]
            if one and two:
                a1 = np.int64(sums_a[0, row, other] * scale / one + 0.5)
                a2 = np.int64(sums_a[1, row, other] * scale / two + 0.5)
                b1 = np.int64(sums_b[0, row, other] * scale / one + 0.5)
                b2 = np.int64(sums_b[1, row, other] * scale / two + 0.5)
                _add(moments[other], a1, a2, b1, b2)
                if other < partners:
                    _add(moments[item], a1, a2, b1, b2)
            if other < partners:
                total = (one + two) * UNIT if one + two else np.nan
                mean_a[item, other] = (sums_a[0, row, other] + sums_a[1, row, other]) / total
                mean_b[item, other] = (sums_b[0, row, other] + sums_b[1, row, other]) / total


@compiled("int64(int32[::1], int64[:,::1], int64[:,::1])")
def _unfold(value, child, reach):
    """Rebuild a tree from what stands between neighbours in leaf order; return its root.

    Node k is the merge between leaves k and k + 1. ``child[k]`` are its two nodes, -1 for a leaf;
    ``reach[k]`` are its first leaf and the one after its last.
    """
    stack = np.empty(len(value), np.int64)
    depth = 0
    for k in range(len(value)):
        last = np.int64(-1)
        while depth and value[stack[depth - 1]] < value[k]:
            depth -= 1
            last = stack[depth]
            reach[last, 1] = k + 1
        child[k, 0], child[k, 1] = last, -1
        reach[k, 0] = stack[depth - 1] + 1 if depth else 0
        if depth:
            child[stack[depth - 1], 1] = k
        stack[depth] = k
        depth += 1
    for k in range(depth):
        reach[stack[k], 1] = len(value) + 1
    return stack[0]


@compiled(
    "void(int32[:,::1], int32[:,::1], int64, boolean[:,::1], float64, boolean, float64, int64,"
    " float64[:,:,::1])",
)
def find_again(order, value, known, members, enough, pieces_too, recurs, most_missed, found):
    """Look for each of several clusters in every tree; only the first ``known`` items count.

    Of cluster c in tree t, ``found[c, t]`` becomes: the largest Jaccard index with a branch that
    holds ``enough`` of it, a share; of the smallest such branch, how much of it is the cluster's,
    and which share of all other items is in it. With ``pieces_too`` also the share of the cluster
    in branches that are made of it to ``enough``, and how many these are. A cluster that did not
    recur, with an index of ``recurs``, in more than ``most_missed`` trees is given up: 0 from then.
    """
    m = order.shape[1]
    child = np.empty((m - 1, 2), np.int64)
    reach = np.empty((m - 1, 2), np.int64)
    counted = np.zeros(m + 1, np.int64)
    inside = np.zeros(m + 1, np.int64)
    stack = np.empty(m, np.int64)
    missed = np.zeros(len(members), np.int64)
    for tree in range(len(order)):
        root = _unfold(value[tree], child, reach)
        for k in range(m):
            counted[k + 1] = counted[k] + (order[tree, k] < known)
        for cluster in range(len(members)):
            if missed[cluster] > most_missed:
                found[cluster, tree] = 0.0
                continue
            member = members[cluster]
            for k in range(m):
                item = order[tree, k]
                inside[k + 1] = inside[k] + (item < known and member[item])
            total, everybody = inside[m], counted[m]
            found[cluster, tree] = np.nan
            if total == 0:
                missed[cluster] += 1
                continue
            # Branches that hold enough of it are nested: from the root down, one child at most.
            node, best, size = root, 0.0, everybody
            shared = total
            while node >= 0:
                low, high = reach[node]
                if inside[high] - inside[low] < enough * total:
                    break
                size, shared = counted[high] - counted[low], inside[high] - inside[low]
                best = max(best, shared / (size + total - shared))
                node, other = child[node]
                if node < 0 or (
                    other >= 0
                    and inside[reach[other, 1]] - inside[reach[other, 0]]
                    > inside[reach[node, 1]] - inside[reach[node, 0]]
                ):
                    node = other
            missed[cluster] += best < recurs
            found[cluster, tree, 0] = best
            found[cluster, tree, 1] = shared / size
            found[cluster, tree, 2] = (size - shared) / max(everybody - total, 1)
            if not pieces_too:
                continue
            covered, pieces = 0, 0
            # Two items are a branch by chance; a tenth of the cluster is not.
            least = max(2, total // 10)
            stack[0] = root
            depth = 1
            while depth:
                depth -= 1
                node = stack[depth]
                low, high = reach[node]
                size, shared = counted[high] - counted[low], inside[high] - inside[low]
                if shared < least:
                    continue
                if shared >= enough * size:
                    covered += shared
                    pieces += 1
                    continue
                for k in range(2):
                    if child[node, k] >= 0:
                        stack[depth] = child[node, k]
                        depth += 1
            found[cluster, tree, 3] = covered / total
            found[cluster, tree, 4] = pieces

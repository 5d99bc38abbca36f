"""From merges to linkage matrices, and from linkage matrices to what a tree knows of its leaves."""

import numpy as np

from sag_vicreg.compiling import compiled


@compiled("int64(int64[::1], int64)")
def _root(parents, node):
    """Find the representative of ``node``'s cluster, halving the path on the way."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@compiled("void(int64[::1], int64[::1], float64[::1], float64[:,::1])")
def fill_linkage(first, second, heights, linkage):
    """Sort merges by height, and name clusters as SciPy does: merge ``k`` makes ``n + k``.

    Merges come children first. Rounding may have put a parent a bit below its child, and no tree in
    sorted order has that: every merge is first raised to the height of those it contains.
    """
    n = len(first) + 1
    parents = np.arange(n)
    highest = np.zeros(n)
    for merge in range(n - 1):
        a, b = _root(parents, first[merge]), _root(parents, second[merge])
        heights[merge] = max(heights[merge], highest[a], highest[b])
        parents[a] = b
        highest[b] = heights[merge]
    order = np.argsort(heights, kind="mergesort")  # stable
    parents = np.arange(n)
    names = np.arange(n)
    sizes = np.ones(n)
    for k in range(n - 1):
        merge = order[k]
        a, b = _root(parents, first[merge]), _root(parents, second[merge])
        parents[a] = b
        sizes[b] += sizes[a]
        linkage[k, 0] = min(names[a], names[b])
        linkage[k, 1] = max(names[a], names[b])
        linkage[k, 2] = heights[merge]
        linkage[k, 3] = sizes[b]
        names[b] = n + k


@compiled("boolean(float64[:,::1])")
def is_linkage(linkage):
    """Tell whether every cluster joins once, after it was made, at heights that never fall."""
    n = len(linkage) + 1
    joined = np.zeros(2 * n - 2, np.bool_)
    for merge in range(n - 1):
        for k in range(2):
            node = np.int64(linkage[merge, k])
            if not 0 <= node < n + merge or joined[node]:
                return False
            joined[node] = True
        if merge and not linkage[merge - 1, 2] <= linkage[merge, 2]:
            return False
    return True


@compiled("void(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def unfold(children, parents, sizes, levels, depths, starts):
    """Fill what every node (leaves first, then merges) knows; children come before parents.

    ``parents`` are merges (-1 above the root), ``levels`` edges down to the deepest leaf,
    ``depths`` edges up to the root, ``starts`` the first place of the node's leaves in leaf order.
    """
    n = len(children) + 1
    sizes[:n], levels[:n] = 1, 0
    for merge in range(n - 1):
        left, right = children[merge]
        parents[left] = parents[right] = merge
        sizes[n + merge] = sizes[left] + sizes[right]
        levels[n + merge] = 1 + max(levels[left], levels[right])
    root = 2 * n - 2
    parents[root] = -1
    depths[root] = starts[root] = 0
    for merge in range(n - 2, -1, -1):
        left, right = children[merge]
        depths[left] = depths[right] = depths[n + merge] + 1
        starts[left] = starts[n + merge]
        starts[right] = starts[n + merge] + sizes[left]


@compiled("int64(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def turn_branches(children, sizes, starts, leaf_order, places, order):
    """Order the leaves so that the fewest lines to ``places`` cross; return how many do.

    Merge sort along the tree: while the sorted places of two branches are merged, the inversions
    between them are counted, and the branch with fewer of them in front goes first.
    """
    n = len(leaf_order)
    sorted_places = places[leaf_order]
    scratch = np.empty(n, np.int64)
    turned = np.zeros(n - 1, np.bool_)
    total = 0
    for merge in range(n - 1):
        left, right = children[merge]
        start, middle = starts[left], starts[right]
        stop = middle + sizes[right]
        i, j, k, inversions = start, middle, start, 0
        while i < middle or j < stop:
            if j == stop or (i < middle and sorted_places[i] < sorted_places[j]):
                scratch[k] = sorted_places[i]
                i += 1
            else:
                scratch[k] = sorted_places[j]
                inversions += middle - i
                j += 1
            k += 1
        sorted_places[start:stop] = scratch[start:stop]
        across = sizes[left] * sizes[right] - inversions
        turned[merge] = across < inversions
        total += min(inversions, across)
    begin = np.zeros(2 * n - 1, np.int64)
    for merge in range(n - 2, -1, -1):
        left, right = children[merge]
        if turned[merge]:
            left, right = right, left
        begin[left] = begin[n + merge]
        begin[right] = begin[n + merge] + sizes[left]
    order[begin[:n]] = np.arange(n)
    return total

"""How often each value of a pair's LCA in tree A meets each value in tree B.

Merges count without visiting pairs. Walk up each heavy path of tree A, from its leaf to its top,
keeping for every merge of tree B how many leaves of the growing cluster lie under it. A leaf that
joins finds, on its way from leaf to root in B, how many of the cluster it meets at each merge. A
leaf joins at most log2(n) heavy paths, so the cost is O(n log n) times the depth of B: a hundredth
of the n(n - 1)/2 pairs at n = 10,000. Path lengths depend on both leaves of a pair and not on the
merge alone; they are counted pair by pair.
"""

import numpy as np

from sag_vicreg.compiling import compiled


@compiled("int64(int64[::1], int64[::1], int64, int64[::1])")
def _descend(heavy, sizes, node, path):
    """Follow heavy children from ``node`` to a leaf; list the merges on the way, top first."""
    n = (len(sizes) + 1) // 2
    length = 0
    while node >= n:
        path[length] = node - n
        length += 1
        node = heavy[node - n]
    path[length] = node
    return length


@compiled("void(int64, int64, int64[::1], int64[::1], int64[::1])")
def _join(leaf, weight, leaf_parents, parents, under):
    merge = leaf_parents[leaf]
    while merge >= 0:
        under[merge] += weight
        merge = parents[merge]


@compiled(
    "int64(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64, int64[:,::1], int32[:,::1], int64[::1])"
)
def count_merges(
    children,
    sizes,
    starts,
    order,
    weights,
    codes_a,
    leaf_parents,
    parents,
    codes_b,
    n_codes_b,
    table,
    cells,
    counts,
):
    """Count pairs by the codes of their LCAs, into ``table`` if it has room, else into cells.

    The first four arrays describe tree A (see :class:`Tree`); a leaf stands for as many items as
    ``weights`` says, whose pairs among themselves are not counted. ``leaf_parents`` and ``parents``
    lead from A's leaves and from merges up tree B. Without a table, each A merge yields its cells
    (its code, B's code, count); they are written as far as ``cells`` has room. Returns how many.
    """
    n = len(order)
    dense = table.shape[0] > 0
    heavy = np.empty(n - 1, np.int64)
    top = np.ones(2 * n - 1, np.bool_)
    for merge in range(n - 1):
        left, right = children[merge]
        heavy[merge] = left if sizes[left] >= sizes[right] else right
        top[heavy[merge]] = False
    path = np.empty(n, np.int64)
    under = np.zeros(n - 1, np.int64)
    met = np.zeros(n_codes_b, np.int64)
    seen = np.empty(n_codes_b, np.int64)
    used = 0
    for start in range(n, 2 * n - 1):
        if not top[start]:
            continue
        length = _descend(heavy, sizes, start, path)
        total = weights[path[length]]
        _join(path[length], total, leaf_parents, parents, under)
        for step in range(length - 1, -1, -1):
            merge = path[step]
            left, right = children[merge]
            light = left if heavy[merge] == right else right
            n_seen, joining = 0, 0
            for place in range(starts[light], starts[light] + sizes[light]):
                leaf = order[place]
                node, below, weight = leaf_parents[leaf], 0, weights[leaf]
                joining += weight
                while below < total:
                    here = under[node]
                    if here > below:
                        code = codes_b[node]
                        if dense:
                            table[codes_a[merge], code] += weight * (here - below)
                        else:
                            if met[code] == 0:
                                seen[n_seen] = code
                                n_seen += 1
                            met[code] += weight * (here - below)
                    below = here
                    node = parents[node]
            for s in range(n_seen):
                if used < len(counts):
                    cells[used, 0], cells[used, 1] = codes_a[merge], seen[s]
                    counts[used] = met[seen[s]]
                met[seen[s]] = 0
                used += 1
            if step > 0:  # nobody joins after the top
                for place in range(starts[light], starts[light] + sizes[light]):
                    leaf = order[place]
                    _join(leaf, weights[leaf], leaf_parents, parents, under)
                total += joining
        for place in range(starts[start], starts[start] + sizes[start]):
            node = leaf_parents[order[place]]
            while node >= 0 and under[node] > 0:
                under[node] = 0
                node = parents[node]
    return used


@compiled(
    "void(int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64, int64[:,::1])"
)
def count_paths(
    start, stop, depths_a, splits_a, depths_b, splits_b, place_b, item_b, lengths, first, table
):
    """Count pairs by their path lengths in both trees, for places ``start..stop`` of A's order.

    Items are numbered by their place in A's leaf order; ``splits`` are the depths of the merges on
    the boundaries of each tree's own leaf order, ``place_b`` and ``item_b`` lead to B's order and
    back. Rows of ``table`` are lengths ``first`` and up in A; other lengths are left for another
    call. ``lengths`` is scratch.
    """
    n = len(depths_a)
    for i in range(start, stop):
        here = place_b[i]
        lowest = n
        for place in range(here + 1, n):
            lowest = min(lowest, splits_b[place - 1])
            j = item_b[place]
            lengths[j] = depths_b[i] + depths_b[j] - 2 * lowest
        lowest = n
        for place in range(here - 1, -1, -1):
            lowest = min(lowest, splits_b[place])
            j = item_b[place]
            lengths[j] = depths_b[i] + depths_b[j] - 2 * lowest
        lowest = n
        for j in range(i + 1, n):
            lowest = min(lowest, splits_a[j - 1])
            row = depths_a[i] + depths_a[j] - 2 * lowest - first
            if 0 <= row < table.shape[0]:
                table[row, lengths[j]] += 1

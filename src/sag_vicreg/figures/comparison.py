"""A comparison as a picture: untangle, lay out, draw."""

from typing import TYPE_CHECKING

from sag_vicreg.figures.trees import draw_comparison, draw_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sag_vicreg.structure import Comparison, Comparisons

# Up to this many leaves a tree is drawn whole; of a larger one, this many top merges.
_WHOLE, _TOP = 150, 60
_COLOURED = 6

_LABELS = {
    "pearson": "LCA similarity, Pearson",
    "spearman": "LCA similarity, Spearman",
    "kendall": "LCA similarity, Kendall",
    "d1_to_p2": "cophenetic similarity, tree of row to distances of column",
    "d2_to_p1": "cophenetic similarity, tree of column to distances of row",
}


def draw_two(found: "Comparison", names: tuple[str, str]) -> "Figure":
    """Draw two compared sets: tanglegram, both dendrograms, joint LCA histogram."""
    from sag_vicreg.structure import cut, dendrogram, joint_table, untangle

    one, other = found.trees
    facing = untangle(one, other)
    top = _WHOLE if found.n <= _WHOLE else _TOP
    pearson, spearman, kendall, d1_to_p2, d2_to_p1 = found.values()
    return draw_comparison(
        dendrogram(one, order=facing.order_a, top=top),
        dendrogram(other, order=facing.order_b, top=top),
        cut(one, min(_COLOURED, found.n - 1)),
        joint_table(one, other, found.lca_distance).histogram(),
        names=names,
        title=(
            f"LCA {found.lca_distance}: Pearson {pearson:.3f}, Spearman {spearman:.3f}, "
            f"Kendall {kendall:.3f}; cophenetic {d1_to_p2:.3f} and {d2_to_p1:.3f}; "
            f"geometry {found.geometry}, n = {found.n:,}"
        ),
        lca=found.lca_distance,
    )


def draw_many(found: "Comparisons", score: str) -> "Figure":
    """Draw one score of every two sets as a heat map."""
    pair = found.pairs[0, 1]
    return draw_matrix(
        found.matrix(score),
        names=found.names,
        title=f"n = {pair.n:,}, geometry {pair.geometry}",
        label=_LABELS[score],
    )

"""A comparison as a picture: untangle, lay out, draw."""

from matplotlib.figure import Figure

from sag_vicreg.figures.trees import draw_comparison, draw_matrix
from sag_vicreg.scores import COPHENETIC, LCA, measure_of
from sag_vicreg.structure import (
    MATRIX_SCORES,
    Comparison,
    Comparisons,
    cut,
    dendrogram,
    joint_table,
    untangle,
    verdict,
)

# Up to this many leaves a tree is drawn whole; of a larger one, this many top merges.
_WHOLE, _TOP = 150, 60
_COLOURED = 6


def draw_two(found: Comparison, names: tuple[str, str]) -> Figure:
    """Draw two compared sets: tanglegram, both dendrograms, joint LCA histogram."""
    one, other = found.trees
    facing = untangle(one, other)
    top = _WHOLE if found.n <= _WHOLE else _TOP
    scores = found.flat()
    five = "; ".join(
        f"{name}: {', '.join(f'{measure_of(key).heading} {scores[key]:.3f}' for key in keys)}"
        for name, keys in ((f"LCA {found.lca_distance}", LCA), ("cophenetic", COPHENETIC))
    )
    return draw_comparison(
        dendrogram(one, order=facing.order_a, top=top),
        dendrogram(other, order=facing.order_b, top=top),
        cut(one, min(_COLOURED, found.n - 1)),
        joint_table(one, other, found.lca_distance).histogram(),
        names=names,
        title=f"{verdict(found)}\n{five}; geometry {found.geometry}, n = {found.n:,}",
        lca=found.lca_distance,
    )


def draw_many(found: Comparisons, score: str) -> Figure:
    """Draw one score of every two sets as a heat map."""
    pair, key = found.any, MATRIX_SCORES[score]
    sides = ", row first" if key in COPHENETIC else ""
    return draw_matrix(
        found.matrix(score),
        names=found.names,
        title=f"n = {pair.n:,}, geometry {pair.geometry}",
        label=measure_of(key).title + sides,
    )

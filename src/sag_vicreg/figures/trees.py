"""Two trees and what they share: tanglegram, dendrograms, joint LCA histogram, heat map."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sag_vicreg.arrays import Ints, inverse
from sag_vicreg.figures.style import PALETTE, new_figure
from sag_vicreg.structure import Dendrogram

_GREY = "#555555"
_OTHER = "#B5B5B5"
# Up to this many leaves each is drawn as a line of its own; beyond, branches as ribbons.
_LINES = 150
# Where a link is drawn between the two trees.
_ACROSS = np.linspace(0.0, 1.0, 24)


def draw_comparison(
    left: Dendrogram,
    right: Dendrogram,
    groups: Ints,
    histogram: tuple[Ints, npt.NDArray[Any], npt.NDArray[Any]],
    *,
    names: tuple[str, str],
    title: str,
    lca: str = "level",
) -> Figure:
    """Draw a comparison on one page.

    Parameters
    ----------
    left, right
        The tops of both trees, their leaves in untangled order.
    groups
        A number for each leaf, shape (n,): leaves are coloured by it, the largest groups first.
    histogram
        Pairs by LCA distance in both trees: counts, edges in A, edges in B.
    names, title, lca
        What the sets are called, the line on top, and the LCA distance of the histogram.
    """
    with new_figure(11.0, 9.0) as figure:
        figure.suptitle(title, fontsize=10)
        (upper,), (lower,) = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.25, 1.0])
        facing = upper.subplots(1, 3, width_ratios=[1.0, 1.5, 1.0], gridspec_kw={"wspace": 0.0})
        colours = _colours(groups)
        _draw_sideways(facing[0], left, names[0], root_left=True)
        _draw_links(facing[1], left, right, colours)
        _draw_sideways(facing[2], right, names[1], root_left=False)
        below = lower.subplots(1, 3, width_ratios=[1.0, 1.0, 0.9])
        for axes, tree, name in zip(below[:2], (left, right), names, strict=True):
            _draw_upright(axes, tree, name, colours)
        _draw_histogram(below[2], *histogram, names=names, lca=lca)
    return figure


def _colours(groups: Ints) -> npt.NDArray[np.str_]:
    """Give the largest groups a colour each and the rest grey; black and yellow stay unused."""
    palette = np.array([*PALETTE[:6], _OTHER])
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    rank = inverse(np.argsort(-sizes, kind="stable"))
    return palette[np.minimum(rank, len(palette) - 1)][codes]


def _draw_sideways(axes: Axes, tree: Dendrogram, name: str, *, root_left: bool) -> None:
    segments = list(np.stack((tree.heights, tree.places), axis=-1))
    axes.add_collection(LineCollection(segments, colors=_GREY, linewidths=0.8))
    top = float(tree.heights.max()) * 1.03
    across = (top, 0.0) if root_left else (0.0, top)
    axes.set(xlim=across, ylim=(len(tree.order), 0), yticks=[], xlabel="merge height", title=name)
    axes.spines["left"].set_visible(False)


def _draw_links(axes: Axes, left: Dendrogram, right: Dendrogram, colours: Any) -> None:
    """Join equal leaves: a line each where there are few, else a ribbon for each two branches."""
    n = len(left.order)
    draw = _draw_lines if n <= _LINES else _draw_ribbons
    draw(axes, left, right, colours)
    axes.set(xlim=(0, 1), ylim=(n, 0), title="tanglegram")
    axes.axis("off")


def _curve(start: float, stop: float) -> npt.NDArray[np.float64]:
    """Heights of a smooth step from ``start`` to ``stop`` over the unit interval."""
    return np.asarray(start + (stop - start) * _ACROSS**2 * (3.0 - 2.0 * _ACROSS))


def _draw_lines(axes: Axes, left: Dendrogram, right: Dendrogram, colours: Any) -> None:
    width = float(np.clip(60 / len(left.order), 0.5, 1.6))
    places = inverse(left.order), inverse(right.order)
    for start, stop, colour in zip(*places, colours, strict=True):
        axes.plot(_ACROSS, _curve(start + 0.5, stop + 0.5), color=colour, lw=width, alpha=0.85)


def _draw_ribbons(axes: Axes, left: Dendrogram, right: Dendrogram, colours: Any) -> None:
    """Give every two branches that share leaves of a colour a ribbon as wide as they are many."""
    numbers, codes = np.unique(colours, return_inverse=True)
    flows = np.column_stack([left.branches, right.branches, codes])
    flows, sizes = np.unique(flows, axis=0, return_counts=True)
    # Along each side ribbons leave their branch in the order in which they arrive at the other.
    starts = _stacked(flows[:, 0], flows[:, 1], flows[:, 2], sizes)
    stops = _stacked(flows[:, 1], flows[:, 0], flows[:, 2], sizes)
    across = np.concatenate([_ACROSS, _ACROSS[::-1]])
    # Ribbons too thin to be seen only grey the picture.
    drawn = np.flatnonzero(sizes >= len(left.order) / 2000)
    drawn = drawn[np.argsort(sizes[drawn], kind="stable")]
    shapes = [
        np.column_stack(
            [
                across,
                np.concatenate(
                    [
                        _curve(starts[k], stops[k]),
                        _curve(starts[k] + sizes[k], stops[k] + sizes[k])[::-1],
                    ]
                ),
            ]
        )
        for k in drawn
    ]
    axes.add_collection(
        PolyCollection(shapes, facecolors=numbers[flows[drawn, 2]].tolist(), alpha=0.6, lw=0)
    )


def _stacked(own: Ints, other: Ints, colour: Ints, sizes: Ints) -> Any:
    order = np.lexsort((colour, other, own))
    # Branches follow one another, so the running total is the place.
    before = np.cumsum(sizes[order]) - sizes[order]
    return before[inverse(order)]


def _draw_upright(axes: Axes, tree: Dendrogram, name: str, colours: Any) -> None:
    segments = list(np.stack((tree.places, tree.heights), axis=-1))
    axes.add_collection(LineCollection(segments, colors=_GREY, linewidths=0.8))
    top = float(tree.heights.max())
    # A strip under the tree says where each colour's leaves have gone.
    numbers, codes = np.unique(colours[tree.order], return_inverse=True)
    axes.imshow(
        codes[None, :],
        aspect="auto",
        cmap=ListedColormap(numbers.tolist()),
        vmin=-0.5,
        vmax=len(numbers) - 0.5,
        interpolation="nearest",
        extent=(0.0, float(len(tree.order)), -0.07 * top, -0.01 * top),
    )
    axes.spines["bottom"].set_visible(False)
    shown, all_merges = len(tree.places), len(tree.order) - 1
    part = f", the top {shown} of {all_merges:,} merges" if shown < all_merges else ""
    axes.set(
        title=name,
        xlim=(0, len(tree.order)),
        ylim=(-0.07 * top, 1.03 * top),
        xticks=[],
        xlabel=f"{len(tree.order):,} items{part}",
        ylabel="merge height",
    )


def _draw_histogram(
    axes: Axes,
    counts: Ints,
    edges_a: Any,
    edges_b: Any,
    *,
    names: tuple[str, str],
    lca: str,
) -> None:
    shown = np.ma.masked_equal(counts.T, 0)
    mesh = axes.pcolormesh(
        edges_a, edges_b, shown, norm=LogNorm(vmin=1, vmax=max(2, counts.max())), cmap="viridis"
    )
    if lca != "height":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.figure.colorbar(mesh, ax=axes, label="pairs", pad=0.02)
    axes.set(
        title="joint LCA histogram",
        xlabel=f"LCA {lca} in {names[0]}",
        ylabel=f"LCA {lca} in {names[1]}",
    )


def draw_matrix(
    matrix: npt.NDArray[np.float64], *, names: tuple[str, ...], title: str, label: str
) -> Figure:
    """Draw a k x k table of scores as a heat map with its numbers."""
    k = len(names)
    size = 2.4 + 0.62 * k
    with new_figure(size + 0.9, size) as figure:
        axes = figure.subplots()
        image = axes.imshow(matrix, cmap="viridis", vmin=min(0.0, float(matrix.min())), vmax=1.0)
        axes.set_xticks(range(k), names, rotation=35, ha="right")
        axes.set_yticks(range(k), names)
        low, high = image.get_clim()
        for (i, j), value in np.ndenumerate(matrix):
            dark = value < low + 0.6 * (high - low)
            axes.text(
                j,
                i,
                f"{round(value, 2) + 0.0:.2f}",  # no minus before zero
                ha="center",
                va="center",
                color="white" if dark else "black",
                fontsize=8,
            )
        axes.spines[:].set_visible(False)
        axes.set_title(title)
        figure.colorbar(image, ax=axes, label=label, shrink=0.85)
    return figure

"""The walk's share of a training step, by batch size."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sag_vicreg.figures.style import MARKERS, PALETTE, figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_walk_share(batch_sizes: Sequence[int], shares: Sequence[float]) -> "Figure":
    """Draw the walk's time over the rest of the step, one point a batch size."""
    from matplotlib.figure import Figure

    with figure_style():
        figure = Figure(figsize=(4.6, 3.0))
        axis = figure.subplots()
        axis.plot(batch_sizes, shares, color=PALETTE[0], marker=MARKERS[0])
        axis.set_xscale("log", base=2)
        axis.set_ylim(0, 1.15 * max(shares))
        axis.set_xticks(batch_sizes, [f"{n:,}" for n in batch_sizes])
        axis.minorticks_off()
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        for n, share in zip(batch_sizes, shares, strict=True):
            axis.annotate(
                f"{share:.1%}",
                (n, share),
                xytext=(2, 6),
                textcoords="offset points",
                ha="right",
                fontsize=7,
            )
        axis.set(xlabel="batch size", ylabel="walk / rest of the step")
    return figure

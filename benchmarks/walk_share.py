"""The figure of the walk's share of a training step, by batch size."""

from collections.abc import Mapping
from pathlib import Path

from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure, save_figure


def draw_walk_share(shares: Mapping[int, float], path: Path) -> None:
    """Draw the walk's time over the rest of the step, one point per batch size."""
    with new_figure(4.6, 3.0) as figure:
        axis = figure.subplots()
        axis.plot(list(shares), list(shares.values()), color=PALETTE[0], marker=MARKERS[0])
        axis.set_xscale("log", base=2)
        axis.set_ylim(0, 1.15 * max(shares.values()))
        axis.set_xticks(list(shares), [f"{n:,}" for n in shares])
        axis.minorticks_off()
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        for n, share in shares.items():
            axis.annotate(
                f"{share:.1%}",
                (n, share),
                xytext=(2, 6),
                textcoords="offset points",
                ha="right",
                fontsize=7,
            )
        axis.set(xlabel="batch size", ylabel="walk / rest of the step")
    save_figure(figure, path)

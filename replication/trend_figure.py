"""The replication's trend: a difference between two methods, by length of training."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from sag_vicreg.figures.style import MARKERS, PALETTE, new_figure


def draw_trend(differences: Mapping[str, Mapping[int, Sequence[float]]], *, ylabel: str) -> Figure:
    """Draw one line per score through the means, and every seed's difference as a faint point.

    Parameters
    ----------
    differences
        Score to (steps to the differences of each seed). Steps without any are left out.
    ylabel
        What is subtracted from what.
    """
    with new_figure(6.2, 3.6) as figure:
        axis = figure.subplots()
        axis.axhline(0, color="#888888", linewidth=0.8)
        for order, (name, by_steps) in enumerate(differences.items()):
            known = {steps: values for steps, values in sorted(by_steps.items()) if values}
            color = PALETTE[order]
            # Scores are set a little apart, or their points would hide each other.
            shift = 1 + 0.03 * (order - (len(differences) - 1) / 2)
            for steps, values in known.items():
                axis.scatter([steps * shift] * len(values), values, s=10, color=color, alpha=0.4)
            axis.plot(
                [steps * shift for steps in known],
                [sum(values) / len(values) for values in known.values()],
                color=color,
                marker=MARKERS[order],
                label=name,
            )
        ticks = sorted({steps for by_steps in differences.values() for steps in by_steps})
        axis.set(xscale="log", xlabel="training steps", ylabel=ylabel)
        axis.set_xticks(ticks, _named(ticks, differences))
        axis.set_xlim(min(ticks) / 1.25, max(ticks) * 1.25)
        axis.minorticks_off()
        figure.legend(loc="outside right upper")
    return figure


def _named(
    ticks: Sequence[int], differences: Mapping[str, Mapping[int, Sequence[float]]]
) -> list[str]:
    """Name the lengths, with their number of seeds where it is not the same everywhere."""
    seeds = [max(len(by.get(steps, ())) for by in differences.values()) for steps in ticks]
    if len(set(seeds) - {0}) < 2:
        return [f"{steps:,}" for steps in ticks]
    return [
        f"{steps:,}\n{count} seed{'' if count == 1 else 's'}"
        for steps, count in zip(ticks, seeds, strict=True)
    ]

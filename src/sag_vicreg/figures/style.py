"""One look for every figure: readable in print, in grey, and for the colour-blind."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sag_vicreg.artifacts import atomic_path, check_writable
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart under every common colour-vision deficiency.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
# Lines differ by marker as well as by colour, for print in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Areas have no marker: those of one colour differ by what is drawn on them.
HATCHES = ("", "//", "..", "xx", "--", "oo", "++", "||")
FORMATS = (".png", ".svg", ".pdf")


def look(order: int) -> tuple[str, str]:
    """Return the colour and the marker of the ``order``-th thing; the first 64 differ in one."""
    turn = order // len(PALETTE)
    return PALETTE[order % len(PALETTE)], MARKERS[(order + turn) % len(MARKERS)]


def hatch(order: int) -> str:
    """Return what is drawn on the ``order``-th area, beside its colour; the first 64 differ."""
    return HATCHES[order // len(PALETTE) % len(HATCHES)]


_RC: Any = {
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.fonttype": "none",
    "svg.hashsalt": "sag-vicreg",
    "pdf.fonttype": 42,
}


def caption(name: str) -> str:
    """Write a class name under a small image: words instead of underscores, on short lines."""
    return fill(name.replace("_", " "), 14)


@contextmanager
def new_figure(width: float, height: float) -> Iterator["Figure"]:
    """Draw a figure of so many inches in the block, under the project's style.

    The caller's settings of matplotlib are not touched.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_RC):
        yield Figure(figsize=(width, height))


def show_image(axis: "Axes", image: Any, text: str = "", **labels: Any) -> None:
    """Show pixels as they are over a small text, without ticks or a frame.

    ``labels`` are those of ``axis.set``.
    """
    axis.imshow(image, interpolation="nearest")
    axis.set_xlabel(text, fontsize=8)
    axis.set(xticks=[], yticks=[], **labels)
    axis.spines[:].set_visible(False)


def check_figure_path(path: Path | str) -> Path:
    """Refuse a path no figure can be written to, before any work is done."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"cannot draw to {path}: the name must end in {', '.join(FORMATS)}")
    check_writable(path)
    return path


def save_figure(figure: "Figure", path: Path | str) -> None:
    """Write ``figure`` to ``path`` atomically, in the format its suffix names."""
    import matplotlib as mpl

    path = check_figure_path(path)
    # Drawn in memory first: on a full disk matplotlib's writers fail in ways of their own.
    drawn = BytesIO()
    with mpl.rc_context(_RC):
        figure.savefig(drawn, format=path.suffix.lower()[1:])
    with atomic_path(path) as temporary:
        temporary.write_bytes(drawn.getbuffer())

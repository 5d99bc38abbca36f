"""``--measure``: measures that other installed packages bring."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

OwnMeasures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="Also a measure that another installed package brings; repeat for several.",
        metavar="NAME",
        show_default=False,
    ),
]


def print_pairs(
    console: "Console",
    names: Sequence[str],
    scores: Mapping[tuple[int, int], Mapping[str, float]],
) -> None:
    """Print what the measures say of every two sets; nothing where there are none."""
    from sag_vicreg.cli.terminal import print_table, titled_table
    from sag_vicreg.errors import visible
    from sag_vicreg.scores import measure_of

    asked = [measure_of(key) for key in next(iter(scores.values()))]
    if not asked:
        return
    head = ["", *(visible(each.short) for each in asked)]
    rows = [
        (
            f"{names[i]}  and  {names[j]}",
            *(f"{each.factor * found[each.key]:.4f}" for each in asked),
        )
        for (i, j), found in scores.items()
    ]
    print_table(console, titled_table("measures of other packages", head, rows))
    for caveat in filter(None, (each.caveat for each in asked)):
        console.print(visible(caveat))

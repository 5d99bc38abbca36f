"""What every command that decides has in common: how its forests are grown, how outcomes look."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from sag_vicreg.decisions import Floor, Settings

COLOURS = {"pass": "green", "fail": "red", "undecided": "yellow"}


def coloured(outcome: str) -> "Text":
    """Return an outcome as a cell of a table."""
    from rich.text import Text

    return Text(outcome, COLOURS[outcome])


@dataclass(frozen=True)
class ForestOptions:
    """The options that say how forests are grown."""

    geometry: Annotated[
        str | None,
        typer.Option(help="cosine (default), spherical or euclidean.", show_default=False),
    ] = None
    trees: Annotated[
        int | None,
        typer.Option(help="Trees per forest, a multiple of 4; 100 by default.", show_default=False),
    ] = None
    items: Annotated[
        int | None,
        typer.Option(
            help="Decide on at most this many items, 3,000 by default; of more, a seeded sample.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of sample and forests, 0 by default.", show_default=False),
    ] = None

    def settings(self, floor: "Floor | None" = None) -> "Settings":
        """Return the settings that were asked for; the rest as in the floor, or the defaults."""
        from sag_vicreg.decisions import Settings

        given = {name: value for name, value in vars(self).items() if value is not None}
        return replace(Settings() if floor is None else floor.settings, **given)

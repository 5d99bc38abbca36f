"""The options by which every command that decides is told how to grow its forests."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sag_vicreg.decisions import Floor, Settings

Geometry = Annotated[
    str | None, typer.Option(help="cosine (default), spherical or euclidean.", show_default=False)
]
Trees = Annotated[
    int | None,
    typer.Option(help="Trees per forest, a multiple of 4; 100 by default.", show_default=False),
]
Items = Annotated[
    int | None,
    typer.Option(
        help="Decide on at most this many items, 3,000 by default; of more, a seeded sample.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, help="Seed of sample and forests, 0 by default.", show_default=False),
]


def settings_of(
    geometry: str | None,
    trees: int | None,
    items: int | None,
    seed: int | None,
    *,
    floor: "Floor | None" = None,
) -> "Settings":
    """Return the settings that were asked for; the rest as in the floor, or the defaults."""
    from sag_vicreg.decisions import Settings

    options = {"geometry": geometry, "trees": trees, "items": items, "seed": seed}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return replace(Settings() if floor is None else floor.settings, **given)

"""The options of the walk, and which of them no walk can follow.

Without PyTorch, because two places take them: a recipe, which refuses them before anything heavy is
loaded, and :class:`~sag_vicreg.pairing.RandomWalkPairing`, which means them.
"""

from typing import Literal, TypedDict, Unpack, get_args

from sag_vicreg.errors import InputError, check_name

Around = Literal["view", "own_view"]
ScaleOver = Literal["batch", "neighbors"]
Partners = Literal["walk", "random"]


class WalkOptions(TypedDict, total=False):
    """What :class:`~sag_vicreg.pairing.RandomWalkPairing` takes beside ``k``."""

    percentile: float
    scale_over: ScaleOver
    around: Around
    stay_home: bool
    crossed: bool
    memory: int
    walk_after: float
    walk_ramp: float
    walk_share: float
    partners: Partners
    partner_weight: float


def check_walk(**options: Unpack[WalkOptions]) -> None:
    """Refuse options that are out of range or contradict each other.

    Each message begins with the name of one of them.
    """
    for name in ("walk_after", "walk_ramp", "walk_share"):
        if not 0 <= options[name] <= 1:
            raise InputError(f"{name} is {options[name]}: it is a share, 0 to 1")
    if options["memory"] < 0:
        raise InputError(f"memory is {options['memory']}: 0 is none, else so many rows are kept")
    check_name("partners", options["partners"], get_args(Partners))
    if options["stay_home"] and options["around"] == "own_view":
        raise InputError(
            "stay_home asks whether the own view is nearest, and around own_view it always is: "
            "set around to view"
        )
    if options["memory"] and options["crossed"]:
        raise InputError(
            "memory keeps embeddings of one view alone, and crossed pulls the partner's other "
            "view: leave one of them out"
        )
    searched = options["stay_home"] or options["crossed"] or options["memory"]
    if options["partners"] == "random" and searched:
        raise InputError(
            "partners random has no neighbours: leave stay_home, crossed and memory out"
        )
    if options["partners"] == "walk" and options["partner_weight"] != 1:
        raise InputError("partner_weight belongs to partners random: a walk's are weighed by W")
    if options["walk_after"] + options["walk_ramp"] > 1:
        raise InputError(
            f"walk_after {options['walk_after']} and walk_ramp {options['walk_ramp']} are shares "
            "of training: together they must not exceed 1"
        )

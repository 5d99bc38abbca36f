"""From a recipe to its method."""

from sag_vicreg.methods.barlow_twins import BarlowTwins
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.dino import DINO
from sag_vicreg.methods.i_jepa import IJEPA
from sag_vicreg.methods.mae import MAE
from sag_vicreg.methods.sag_vicreg import SAGVICReg
from sag_vicreg.methods.simclr import SimCLR
from sag_vicreg.methods.vicreg import VICReg
from sag_vicreg.recipes import Recipe

METHODS: dict[str, type[Method]] = {
    "vicreg": VICReg,
    "sag-vicreg": SAGVICReg,
    "simclr": SimCLR,
    "barlow-twins": BarlowTwins,
    "dino": DINO,
    "mae": MAE,
    "i-jepa": IJEPA,
}


def make_method(recipe: Recipe) -> Method:
    """Build the method a recipe names, with freshly initialised weights."""
    return METHODS[recipe.method.name](recipe)

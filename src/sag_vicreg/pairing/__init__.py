"""Random-walk pairing: who is paired with whom in a batch of two views (paper, section 4.3)."""

from sag_vicreg.pairing.affinity import Affinity, ScaleOver, neighbor_affinity
from sag_vicreg.pairing.gather import GlobalViews, gather_views
from sag_vicreg.pairing.random_walk_pairing import RandomWalkPairing, WalkedViews
from sag_vicreg.pairing.views import check_finite, full_precision
from sag_vicreg.pairing.walk import Pairs, random_walk

__all__ = [
    "Affinity",
    "GlobalViews",
    "Pairs",
    "RandomWalkPairing",
    "ScaleOver",
    "WalkedViews",
    "check_finite",
    "full_precision",
    "gather_views",
    "neighbor_affinity",
    "random_walk",
]

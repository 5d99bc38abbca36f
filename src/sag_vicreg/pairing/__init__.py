"""Random-walk pairing: who is paired with whom in a batch of two views (paper, section 4.3).

To read: ``affinity``, who is near whom; ``walk``, the draw and the module.
"""

from sag_vicreg.pairing.affinity import Affinity, neighbor_affinity, own_view_rank
from sag_vicreg.pairing.walk import Pairs, RandomWalkPairing, WalkedViews, random_walk

__all__ = [
    "Affinity",
    "Pairs",
    "RandomWalkPairing",
    "WalkedViews",
    "neighbor_affinity",
    "own_view_rank",
    "random_walk",
]

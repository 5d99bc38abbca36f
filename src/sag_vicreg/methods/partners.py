"""SAG in front of any two-view method: whom each row is compared with."""

import torch
from torch import Tensor, nn

from sag_vicreg.methods.moment import Moment
from sag_vicreg.pairing import RandomWalkPairing, WalkedViews, gather_views
from sag_vicreg.recipes.method_sections import PairingSettings


class Partners(nn.Module):
    """Each image's own two views or, with ``pairing: random_walk``, the walk's pairs.

    The walk starts when ``walk_after`` of training is done. What comes out are the rows of all
    processes, so a loss behind it sees the whole batch and must not gather again.
    """

    def __init__(self, settings: PairingSettings) -> None:
        super().__init__()
        self.walk_after = settings.walk_after if settings.pairing == "random_walk" else 1.0
        self.walk = RandomWalkPairing(
            settings.k, percentile=settings.percentile, scale_over=settings.scale_over
        )

    def forward(self, z: Tensor, z_prime: Tensor, moment: Moment) -> WalkedViews:
        """Return the rows to compare, and who was drawn for whom."""
        if moment.progress >= self.walk_after:
            walked: WalkedViews = self.walk(z, z_prime, generator=moment.generator("walk"))
            return walked
        views = gather_views(z, z_prime)
        n, device = len(views.z), views.z.device
        own = torch.arange(n, device=device)
        return WalkedViews(own, torch.ones(n, device=device), views.z, views.z_prime)

"""NT-Xent, SimCLR's loss (Chen et al., 2020, https://arxiv.org/abs/2002.05709), fit for the walk.

Two rows may walk to the same partner. Taken as it stands, that partner would then be a row's
positive and its negative at once, and two rows drawn to one place would be pushed apart. Rows that
share a partner are therefore not each other's negatives, nor are their copies of it.
"""

import torch
from torch import Tensor

from sag_vicreg.errors import InputError
from sag_vicreg.losses.two_views import LossTerms, TwoViewLoss
from sag_vicreg.pairing import RandomWalkPairing, WalkedViews


def nt_xent(
    z: Tensor, z_partner: Tensor, *, temperature: float = 0.5, indices: Tensor | None = None
) -> Tensor:
    """Return the mean cross-entropy of finding each row's partner among all 2n rows.

    Parameters
    ----------
    z, z_partner : (n, d)
        Row i of each is the other's positive. A zero row has cosine 0 to everything.
    temperature : float
        Divides the cosines.
    indices : (n,) int64, optional
        The walk's partners. Rows with equal entries are left out of each other's negatives.
    """
    n = len(z)
    rows = torch.cat((z, z_partner))
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    rows = rows / norms.masked_fill(norms == 0, 1)
    logits = rows @ rows.T / temperature
    own = torch.arange(n, device=z.device)
    partners = (own if indices is None else indices).repeat(2)
    positive = torch.cat((own + n, own))[:, None]
    left_out = (partners[:, None] == partners).scatter_(1, positive, False)
    logits = logits.masked_fill(left_out, -torch.inf)
    per_row: Tensor = logits.logsumexp(dim=1) - logits.gather(1, positive).squeeze(1)
    return per_row.mean()


class NTXentLoss(TwoViewLoss):
    """SimCLR's loss. The walk's weights have no place in it and are not used.

    Parameters
    ----------
    temperature : float
        Divides the cosines.
    pairing : RandomWalkPairing, optional
        Draws the partners; without it they are the own views.

    Examples
    --------
    >>> import torch
    >>> z, z_prime = torch.randn(2, 32, 64, requires_grad=True)
    >>> NTXentLoss(temperature=0.5, pairing=RandomWalkPairing(k=5))(z, z_prime).total.backward()
    """

    def __init__(
        self, *, temperature: float = 0.5, pairing: RandomWalkPairing | None = None
    ) -> None:
        super().__init__(pairing)
        if not temperature > 0:
            raise InputError(f"temperature is {temperature}: it must be positive")
        self.temperature = temperature

    def of_partners(self, walked: WalkedViews) -> LossTerms:
        """Find each row's partner."""
        total = nt_xent(
            walked.z, walked.z_partner, temperature=self.temperature, indices=walked.indices
        )
        return LossTerms(total, {"nt_xent": total})

"""What every loss returns: a total to differentiate and the raw terms it was made of."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class LossTerms:
    """A loss and its parts, all scalars.

    Attributes
    ----------
    total : Tensor
        Call ``backward()`` on this.
    parts : mapping of str to Tensor
        The named terms before weighting, for the training log.
    """

    total: Tensor
    parts: Mapping[str, Tensor]


class VICRegTerms(LossTerms):
    """The terms of VICReg and SAG-VICReg by name."""

    @property
    def invariance(self) -> Tensor:
        """``s(Z, Z'')``: mean weighted squared difference of partners."""
        return self.parts["invariance"]

    @property
    def variance(self) -> Tensor:
        """``v``: mean hinge of the standard deviations, averaged over the two sides."""
        return self.parts["variance"]

    @property
    def covariance(self) -> Tensor:
        """``c``: squared off-diagonal covariances over d, summed over the two sides."""
        return self.parts["covariance"]

    @property
    def nontrivial(self) -> Tensor:
        """Share of rows whose partner is another image's view; 0 for plain VICReg."""
        return self.parts["nontrivial"]

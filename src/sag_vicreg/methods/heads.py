"""The small networks between backbone and loss, from lightly's blocks."""

import warnings
from collections.abc import Sequence
from itertools import pairwise

from lightly.models.modules.heads import DINOProjectionHead, ProjectionHead
from torch import nn


def expander(n_features: int, widths: Sequence[int]) -> nn.Module:
    """Build VICReg's expander: Linear-BatchNorm-ReLU for each width but the last, a bare Linear.

    As in the official code the last layer has no bias and the others have one; lightly's own
    ``VICRegProjectionHead`` has it the other way round.
    """
    return _layers(n_features, widths, None)


def projector(n_features: int, widths: Sequence[int]) -> nn.Module:
    """Build SimCLR's head: as :func:`expander`, with a BatchNorm at the end as well."""
    return _layers(n_features, widths, nn.BatchNorm1d(widths[-1]))


def dino_head(
    n_features: int, *, hidden_dim: int, bottleneck_dim: int, prototypes: int
) -> DINOProjectionHead:
    """Build DINO's head; its weight norm cannot be copied, so a teacher's is built again."""
    with warnings.catch_warnings():
        # lightly still uses the older weight norm, which works and says that it is older.
        warnings.filterwarnings("ignore", message=".*weight_norm", category=FutureWarning)
        return DINOProjectionHead(n_features, hidden_dim, bottleneck_dim, prototypes)


def _layers(n_features: int, widths: Sequence[int], last_norm: nn.Module | None) -> nn.Module:
    *hidden, last = pairwise((n_features, *widths))
    blocks = [(*ends, nn.BatchNorm1d(ends[1]), nn.ReLU(), True) for ends in hidden]
    head: nn.Module = ProjectionHead([*blocks, (*last, last_norm, None, False)])
    return head

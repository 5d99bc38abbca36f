"""What the methods on vision transformers share."""

import torch
import torch.distributed as dist
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from sag_vicreg.errors import InputError
from sag_vicreg.methods.moment import Moment


def as_transformer(backbone: nn.Module, method: str) -> VisionTransformer:
    """Return the backbone as timm's vision transformer, whose tokens can be masked."""
    if not isinstance(backbone, VisionTransformer):
        raise InputError(
            f"method {method} masks the tokens of a vision transformer, and the backbone is "
            f"timm's {type(backbone).__name__}: choose one of its vit_ models"
        )
    return backbone


def batch_share(n: int, moment: Moment) -> float:
    """Weight of the mean over this process's ``n`` images in the mean over the whole batch.

    DistributedDataParallel averages over processes alike; times this share, that average is the
    mean over all images also where processes hold different numbers. It is 1 for one process.
    """
    distributed = dist.is_available() and dist.is_initialized()
    return n * (dist.get_world_size() if distributed else 1) / moment.batch_size


def at_least_float32(values: Tensor) -> Tensor:
    """Return ``values`` out of half precision, for a loss; float64 stays float64."""
    return values.to(torch.promote_types(values.dtype, torch.float32))

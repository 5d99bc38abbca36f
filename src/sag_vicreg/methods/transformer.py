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


def over_the_batch(loss: Tensor, n: int, moment: Moment) -> Tensor:
    """Turn the mean over this process's ``n`` images into the loss of the whole batch.

    Its value is the mean over all images, the same on every process. Its gradient is weighted so
    that DistributedDataParallel's plain average over processes is that mean's gradient, also where
    processes hold different numbers of images.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return loss
    loss = loss * (n * dist.get_world_size() / moment.batch_size)
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return loss + (mean / dist.get_world_size() - loss.detach())


def at_least_float32(values: Tensor) -> Tensor:
    """Return ``values`` out of half precision, for a loss; float64 stays float64."""
    return values.to(torch.promote_types(values.dtype, torch.float32))

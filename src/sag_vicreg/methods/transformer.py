"""What the methods on vision transformers share."""

import torch
import torch.distributed as dist
from lightly.models.modules.masked_vision_transformer_timm import MaskedVisionTransformerTIMM
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


def masked(
    vit: VisionTransformer, method: str, *, weight_initialization: str = ""
) -> MaskedVisionTransformerTIMM:
    """Wrap ``vit`` so that its tokens can be left out; its positions become fixed sine-cosine."""
    try:
        return MaskedVisionTransformerTIMM(vit, weight_initialization=weight_initialization)
    except Exception as error:  # lightly asserts and copies, and says little of what it lacks
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(
            f"method {method} cannot give this backbone sine-cosine positions ({reason}): take "
            "timm's own pos_embed and class token, and an embed_dim that 4 divides"
        ) from error


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

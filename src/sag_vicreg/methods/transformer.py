"""What the methods on vision transformers share."""

from lightly.models.modules.masked_vision_transformer_timm import MaskedVisionTransformerTIMM
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from sag_vicreg.errors import InputError, first_line


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
        raise InputError(
            f"method {method} cannot give this backbone sine-cosine positions "
            f"({first_line(error)}): take timm's own pos_embed and class token, and an embed_dim "
            "that 4 divides"
        ) from error
